//! Reads y4m.

use std::io::{BufRead, BufReader, Read};

use nestcast_codec::{Display, Format, FrameRate, Matrix, Picture, Range, Size, Ycbcr};

use super::header::{Header, Subsampling};
use super::{Error, Note, planes, samples};
use crate::rgb;

/// The most bytes of a header's line.
const MAX_LINE: u64 = 4096;

/// Reads pictures from a y4m stream.
#[derive(Debug)]
pub struct Reader<R> {
    input: BufReader<R>,
    header: Header,
    frame: u64,
    /// Memory for rows of colour differences that are averaged.
    spare: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the header. Refuses frames of more than `max_pixels` before it allocates memory for them.
    ///
    /// # Errors
    /// [`Error`] if this is no y4m that the crate reads. The message says what to do.
    pub fn new(input: R, max_pixels: u64) -> Result<Self, Error> {
        let mut input = BufReader::new(input);
        let line = line(&mut input)?.ok_or(Error::Corrupt("it is empty"))?;
        let header = Header::parse(&line, max_pixels)?;
        Ok(Self { input, header, frame: 0, spare: Vec::new() })
    }

    /// Returns the size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.header.size
    }

    /// Returns how every picture lies in memory: planar YCbCr 4:2:0 of the stream's colours, or grey of 8 bits.
    #[must_use]
    pub fn format(&self) -> Format {
        self.header.format()
    }

    /// Returns what samples mean, also in grey video. The range is the stream's. The matrix is the one that players
    /// assume for the size, or the one that you set.
    #[must_use]
    pub const fn colours(&self) -> Ycbcr {
        self.header.colours
    }

    /// Returns how to show the frames.
    #[must_use]
    pub const fn display(&self) -> Display {
        self.header.display
    }

    /// Returns what the pictures lose of the video: bits of samples over 8, colour differences, opacity.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.header.notes().collect()
    }

    /// Returns the bits of a sample of every picture: 8, unless [`Reader::with_max_bits`] lets it have more.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.header.bits()
    }

    /// Keeps up to `max_bits` bits of a sample, 8 to 16, where the stream has more than 8. Its pictures are then
    /// [`Format::Ycbcr420Deep`], also in a grey video.
    #[must_use]
    pub fn with_max_bits(mut self, max_bits: u8) -> Self {
        self.header.max_bits = max_bits.clamp(8, 16);
        self
    }

    /// Sets the matrix of the samples, for which y4m has no field. `None` keeps the usual one of the size.
    #[must_use]
    pub const fn with_matrix(mut self, matrix: Option<Matrix>) -> Self {
        if let Some(matrix) = matrix {
            self.header.colours.matrix = matrix;
        }
        self
    }

    /// Returns the bytes of a picture in the file, including its line.
    #[must_use]
    pub fn frame_bytes(&self) -> usize {
        self.header.frame_bytes()
    }

    /// Returns the pictures per second.
    #[must_use]
    pub const fn rate(&self) -> FrameRate {
        self.header.rate
    }

    /// Reads the next picture; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Broken`] and [`Error::Lost`] if the video ends or continues in the wrong place.
    pub fn read(&mut self) -> Result<Option<Picture>, Error> {
        if !self.begin()? {
            return Ok(None);
        }
        let mut picture = Picture::zero(self.size(), self.format());
        self.fill(&mut picture)?;
        Ok(Some(picture))
    }

    /// Reads the next picture into `picture`, and reuses its memory if size and format are the video's. Returns whether
    /// there was one. A grey video of 8 bits also fills a picture of [`Format::Ycbcr420`] of its colours, with differences
    /// of 128; one of more bits always fills [`Format::Ycbcr420Deep`], with differences of `2^(bits-1)`.
    ///
    /// # Errors
    /// As [`read`](Self::read); `picture` may then have samples of two pictures.
    pub fn read_into(&mut self, picture: &mut Picture) -> Result<bool, Error> {
        if !self.begin()? {
            return Ok(false);
        }
        let fits = picture.format() == self.format() || picture.format() == self.header.planar();
        if picture.size() != self.size() || !fits {
            *picture = Picture::zero(self.size(), self.format());
        }
        self.fill(picture)?;
        Ok(true)
    }

    /// Reads the line before a picture. Returns whether there is one.
    fn begin(&mut self) -> Result<bool, Error> {
        let frame = self.frame;
        match line(&mut self.input) {
            Ok(None) => Ok(false),
            Ok(Some(line)) if line == "FRAME" || line.starts_with("FRAME ") => Ok(true),
            Ok(Some(_)) | Err(Error::Corrupt(_)) if self.header.has_halves() => Err(Error::OddWidth { frame }),
            Ok(Some(_)) | Err(Error::Corrupt(_)) => Err(Error::Lost { frame }),
            Err(error) => Err(error),
        }
    }

    /// Reads a picture's samples.
    fn fill(&mut self, picture: &mut Picture) -> Result<(), Error> {
        let frame = self.frame;
        self.planes(picture).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Broken { frame },
            _ => Error::Io(error),
        })?;
        self.frame += 1;
        Ok(())
    }

    fn planes(&mut self, picture: &mut Picture) -> std::io::Result<()> {
        let Header { size, samples: kind, colours, display, .. } = self.header;
        let bits = self.header.bits();
        let format = picture.format();
        let all = picture.samples_mut();
        if kind.subsampling == Subsampling::C420 {
            return samples::read(&mut self.input, [kind.depth, bits], all);
        }
        let (luma, differences) = all.split_at_mut(if bits > 8 { 2 } else { 1 } * size.pixels());
        samples::read(&mut self.input, [kind.depth, bits], luma)?;
        if kind.subsampling == Subsampling::Mono {
            fill_neutral(differences, bits);
            if format == Format::Grey && colours.range == Range::Limited {
                rgb::expand(luma);
            }
            return Ok(());
        }
        let (blue, red) = differences.split_at_mut(differences.len() / 2);
        let sides = [size.width(), size.height()];
        for plane in [blue, red] {
            planes::read(&mut self.input, (kind, bits, display.scan), sides, plane, &mut self.spare)?;
        }
        if kind.alpha { samples::skip(&mut self.input, size.pixels()) } else { Ok(()) }
    }
}

/// Fills colour differences with that of grey.
fn fill_neutral(differences: &mut [u8], bits: u8) {
    let neutral = 1_u16 << (bits - 1);
    if bits == 8 {
        differences.fill(neutral.to_le_bytes()[0]);
    } else {
        differences.as_chunks_mut().0.fill(neutral.to_le_bytes());
    }
}

/// Reads a line, and removes its end; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(Error::Corrupt("a header's line has no end"));
    }
    // A comment may be in any encoding.
    Ok(Some(String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())))
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Siting;
    use proptest::prelude::*;

    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        let mut reader = match Reader::new(bytes, 1000) {
            Ok(reader) => reader,
            Err(error) => return error.to_string(),
        };
        loop {
            match reader.read() {
                Ok(Some(_)) => {}
                Ok(None) => return "ended".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (bytes, part) in [
            (&b""[..], "empty"),
            (b"RIFF\n", "YUV4MPEG2"),
            (b"YUV4MPEG2 W4 H4 F25:1", "no end"),
            (b"YUV4MPEG2 W4 F25:1\n", "no height"),
            (b"YUV4MPEG2 W0 H4 F25:1\n", "a side is 0"),
            (b"YUV4MPEG2 W4000000000 H4000000000 F25:1\n", "limit of 1000"),
            (b"YUV4MPEG2 W4 H4 F25:0\n", "frame rate"),
            (b"YUV4MPEG2 W4 H4 F90000:1\n", "give ffmpeg `-r 30`"),
            (b"YUV4MPEG2 W4 H4 F1200:1\n", "give ffmpeg `-r 30`"),
            (b"YUV4MPEG2 W4 H4 F25:1\r\nFRAME\r\n", "CR LF"),
            (b"YUV4MPEG2 W4 H4 F25:1 C420p17\n", "420p17"),
            (b"YUV4MPEG2 W4 H4 F25:1 C420p8\n", "420p8"),
            (b"YUV4MPEG2 W4 H4 F25:1 C411\n", "are 411"),
            (b"YUV4MPEG2 W1 H1 F25:1 C444alpha\nFRAME\nyuvaFRAME\nyuv", "inside frame 1"),
            (b"YUV4MPEG2 W1 H1 F25:1 Cmono10\nFRAME\nyyFRAME\ny", "inside frame 1"),
            (b"YUV4MPEG2 W3 H2 F25:1 C422\nFRAME\nabcdefABCD1234", "ended"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nab", "ended"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabFRAME\na", "inside frame 1"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabcdFRAME\nabcd", "frame 1 does not begin"),
        ] {
            assert!(refusal(bytes).contains(part), "{}", refusal(bytes));
        }
    }

    /// Returns the first picture of a video of three by three pixels in full range, with this luma and these
    /// differences.
    fn picture(kind: &str, differences: &[&[u8]]) -> Picture {
        let header = format!("YUV4MPEG2 W3 H3 F25:1 C{kind} XCOLORRANGE=FULL\nFRAME\n");
        let bytes = [header.as_bytes(), b"lumaluma9", &differences.concat()].concat();
        Reader::new(&bytes[..], 9).expect("a header").read().expect("a frame").expect("one")
    }

    #[test]
    fn differences_are_averaged_to_a_quarter() {
        let c444 = [[1, 2, 3], [4, 6, 9], [10, 20, 40]].concat();
        let c422 = [[1, 2], [4, 6], [10, 20]].concat();
        for (kind, given, expected) in [
            ("420", &[1, 2, 3, 4][..], [1, 2, 3, 4]),
            // The last column and row count twice; halves are rounded up.
            ("444", &c444, [3, 6, 15, 40]),
            ("422", &c422, [3, 4, 10, 20]),
        ] {
            let red: Vec<u8> = given.iter().map(|sample| sample + 100).collect();
            let picture = picture(kind, &[given, &red]);
            assert_eq!(picture.format(), Format::Ycbcr420(Ycbcr::BT601_FULL));
            let expected = [&b"lumaluma9"[..], &expected, &expected.map(|sample| sample + 100)].concat();
            assert_eq!(picture.samples(), expected, "{kind}");
        }
        let grey = picture("mono", &[]);
        assert_eq!((grey.format(), grey.samples()), (Format::Grey, &b"lumaluma9"[..]));
    }

    #[test]
    fn fields_are_averaged_each_by_itself() {
        // Rows of one value each; the rows of the fields alternate.
        let first = |header: &str, rows: &[u8]| {
            let luma = vec![0; 2 * rows.len()];
            let across = if header.contains("444") { 2 } else { 1 };
            let plane: Vec<u8> = rows.iter().flat_map(|row| vec![*row; across]).collect();
            let header = format!("YUV4MPEG2 W2 H{} F25:1 {header}\nFRAME\n", rows.len());
            let bytes = [header.as_bytes(), &luma, &plane, &plane].concat();
            let picture = Reader::new(&bytes[..], 100).expect("a header").read().expect("a frame").expect("one");
            let rows = rows.len();
            picture.samples()[2 * rows..2 * rows + rows.div_ceil(2)].to_vec()
        };
        let rows = [10, 20, 30, 40, 50, 60, 70, 80];
        for kind in ["C422", "C444"] {
            assert_eq!(first(&format!("Ip {kind}"), &rows), [15, 35, 55, 75]);
            for scan in ["t", "b", "m"] {
                let fields = |rows| first(&format!("I{scan} {kind}"), rows);
                assert_eq!(fields(&rows), [20, 30, 60, 70], "{scan} {kind}");
                // A field whose last row is alone keeps it.
                assert_eq!(fields(&rows[..7]), [20, 30, 60, 60], "{scan} {kind}");
                assert_eq!(fields(&rows[..6]), [20, 30, 50], "{scan} {kind}");
                assert_eq!(fields(&rows[..3]), [20, 20], "{scan} {kind}");
                assert_eq!(fields(&rows[..1]), [10], "{scan} {kind}");
            }
        }
        let mixed = Reader::new(&b"YUV4MPEG2 W2 H2 F25:1 Im\nFRAME It\nabcdef"[..], 4).expect("a header");
        assert_eq!(mixed.notes(), [Note::Mixed]);
    }

    #[test]
    fn comments_may_be_in_any_encoding_and_an_old_one_names_the_samples() {
        let read = |header: &[u8]| {
            Reader::new(std::io::Cursor::new([&b"YUV4MPEG2 W2 H2 F25:1 "[..], header, b"\n"].concat()), 4)
        };
        assert!(read(b"XCaf\xE9 \xFF XCOLORRANGE=FULL").expect("a header").colours().range == Range::Full);
        for (header, bytes) in [(&b"XYSCSS=444"[..], 12), (b"XYSCSS=420JPEG", 6), (b"C420 XYSCSS=444", 6), (b"", 6)] {
            assert_eq!(read(header).expect("a header").frame_bytes(), 6 + bytes, "{header:?}");
        }
        assert_eq!(read(b"XYSCSS=420MPEG2").expect("a header").display().siting, Siting::Left);
        assert!(matches!(read(b"XYSCSS=411"), Err(Error::Unsupported(_))));
    }

    #[test]
    fn deep_samples_and_opacity_are_noted_and_left_out() {
        let deep = |samples: &[u16]| samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>();
        let depth = |bits| Note::Depth { bits, kept: 8 };
        let luma = [256_u16, 511, 512, 1023];
        for (kind, samples, expected, notes) in [
            ("420p10", deep(&[&luma[..], &[512, 300]].concat()), &[64, 128, 128, 255, 128, 75][..], &[depth(10)][..]),
            (
                "422p10",
                deep(&[&luma[..], &[510, 514, 300, 308]].concat()),
                &[64, 128, 128, 255, 129, 76],
                &[depth(10), Note::Averaged("4:2:2")],
            ),
            (
                "444p12",
                deep(&[[16, 32, 48, 64]; 3].concat()),
                &[1, 2, 3, 4, 3, 3],
                &[depth(12), Note::Averaged("4:4:4")],
            ),
            ("mono16", deep(&[0, 255, 256, 65_535]), &[0, 1, 1, 255], &[depth(16)]),
            ("444alpha", b"lumabbbbrrrrAAAA".to_vec(), b"lumabr", &[Note::Averaged("4:4:4"), Note::Alpha]),
        ] {
            let header = format!("YUV4MPEG2 W2 H2 F25:1 C{kind} XCOLORRANGE=FULL\n");
            let frame = [&b"FRAME\n"[..], &samples].concat();
            let bytes = [header.as_bytes(), &frame, &frame].concat();
            let mut reader = Reader::new(&bytes[..], 4).expect("a header");
            assert_eq!((reader.notes(), reader.frame_bytes()), (notes.to_vec(), frame.len()), "{kind}");
            for _ in 0..2 {
                let picture = reader.read().expect("a frame").expect("one");
                assert_eq!(picture.samples(), expected, "{kind}");
            }
            assert!(reader.read().expect("the end").is_none());
        }
        let plain = Reader::new(&b"YUV4MPEG2 W2 H2 F25:1 C420jpeg\n"[..], 4).expect("a header");
        assert_eq!(plain.notes(), []);
    }

    #[test]
    fn deep_samples_are_kept_as_far_as_the_reader_may() {
        let deep = |samples: &[u16]| samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>();
        let luma = [256_u16, 511, 512, 1023];
        let full = |bits| Note::FullRange { bits };
        for (kind, max_bits, samples, bits, expected, notes) in [
            ("420p10", 16, [&luma[..], &[513, 301]].concat(), 10, [&luma[..], &[513, 301]].concat(), vec![full(10)]),
            (
                "422p10",
                10,
                [&luma[..], &[510, 513, 300, 309]].concat(),
                10,
                [&luma[..], &[512, 305]].concat(),
                vec![full(10), Note::Averaged("4:2:2")],
            ),
            (
                "444p12",
                10,
                [[16_u16, 32, 48, 4095]; 3].concat(),
                10,
                // Each is rounded to 10 bits before its mean.
                vec![4, 8, 12, 1023, 262, 262],
                vec![Note::Depth { bits: 12, kept: 10 }, full(10), Note::Averaged("4:4:4")],
            ),
            (
                "mono12",
                12,
                vec![0, 255, 256, 65_535],
                12,
                vec![0, 255, 256, 4095, 2048, 2048],
                vec![full(12), Note::Inexact { bits: 12 }],
            ),
        ] {
            let header = format!("YUV4MPEG2 W2 H2 F25:1 C{kind} XCOLORRANGE=FULL\n");
            let bytes = [header.as_bytes(), b"FRAME\n", &deep(&samples)].concat();
            let mut reader = Reader::new(&bytes[..], 4).expect("a header").with_max_bits(max_bits);
            assert_eq!((reader.bits(), reader.notes()), (bits, notes), "{kind}");
            assert_eq!(reader.format(), Format::Ycbcr420Deep { colours: Ycbcr::BT601_FULL, bits });
            let picture = reader.read().expect("a frame").expect("one");
            assert_eq!(picture.samples(), deep(&expected), "{kind}");
            assert!(reader.read().expect("the end").is_none());
        }
        let plain = Reader::new(&b"YUV4MPEG2 W2 H2 F25:1 C420jpeg\n"[..], 4).expect("a header").with_max_bits(16);
        assert_eq!((plain.bits(), plain.format()), (8, Format::Ycbcr420(Ycbcr::BT601)));
        assert_eq!(full(10).to_string().matches("1020 for white").count(), 1);
        for (kind, siting) in [("mono", Siting::Centre), ("mono10", Siting::Left), ("444p10", Siting::Centre)] {
            let header = format!("YUV4MPEG2 W2 H2 F25:1 C{kind} XCOLORRANGE=LIMITED\n");
            let reader = Reader::new(header.as_bytes(), 4).expect("a header").with_max_bits(11);
            assert_eq!(reader.display().siting, siting, "{kind}");
            assert!(reader.notes().iter().all(|note| matches!(note, Note::Averaged(_))), "{kind}");
        }
    }

    #[test]
    fn a_picture_that_is_there_is_read_into_and_no_memory_is_taken() {
        for kind in ["420", "422", "444", "mono"] {
            let header = format!("YUV4MPEG2 W33 H31 F25:1 C{kind}\n");
            let count = match kind {
                "420" => 33 * 31 + 2 * 17 * 16,
                "422" => 33 * 31 + 2 * 17 * 31,
                "444" => 3 * 33 * 31,
                _ => 33 * 31,
            };
            let frames = (0..3_u8).flat_map(|frame| [&b"FRAME\n"[..], &vec![60 + frame; count]].concat());
            let bytes: Vec<u8> = header.into_bytes().into_iter().chain(frames).collect();
            let mut reader = Reader::new(&bytes[..], 2000).expect("a header");
            let mut picture = Picture::zero(Size::new(1, 1).expect("a valid size"), Format::Rgb);
            assert!(reader.read_into(&mut picture).expect("a frame"));
            assert_eq!((picture.size(), picture.format()), (reader.size(), reader.format()));
            let mut second = picture.clone();
            let taken = allocation_counter::measure(|| assert!(reader.read_into(&mut second).expect("a frame")));
            // The frame's line.
            assert!(taken.count_total <= 1 && taken.bytes_total <= 64, "{kind}: {taken:?}");
            assert!(picture.samples()[0] < second.samples()[0], "{kind}");
            let mut planar = Picture::zero(reader.size(), Format::Ycbcr420(Ycbcr::BT601));
            assert!(reader.read_into(&mut planar).expect("a frame"));
            assert_eq!(planar.samples()[0], 62);
            assert_eq!(planar.samples()[33 * 31..], [if kind == "mono" { 128 } else { 62 }; 2 * 17 * 16]);
            assert!(!reader.read_into(&mut planar).expect("the end"));
        }
    }

    #[test]
    fn a_line_without_end_is_given_up_soon() {
        let mut input = std::io::repeat(b'W').take(1 << 40);
        assert!(matches!(Reader::new(&mut input, 1000), Err(Error::Corrupt(why)) if why.contains("no end")));
        assert!((1 << 40) - input.limit() <= 1 << 14, "a few buffers are read");
        let mut frames = (&b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME "[..]).chain(std::io::repeat(b'x'));
        let mut reader = Reader::new(&mut frames, 1000).expect("a header");
        assert!(matches!(reader.read(), Err(Error::Lost { frame: 0 })));
    }

    #[test]
    fn rows_of_colour_that_ffmpeg_writes_too_short_are_named() {
        // Three pixels have two samples of colour: ffmpeg writes three bytes of the four. Two rows of each, or three.
        for (kind, missing, is_named) in
            [("420p10", 4, true), ("422p10", 6, true), ("444p10", 2, false), ("420", 2, false)]
        {
            let header = format!("YUV4MPEG2 W3 H3 F25:1 C{kind}\n");
            let samples = Reader::new(header.as_bytes(), 9).expect("a header").header.frame_bytes() - "FRAME\n".len();
            let frame = [&b"FRAME\n"[..], &vec![1; samples - missing]].concat();
            let bytes = [header.as_bytes(), &frame.repeat(3)].concat();
            let mut reader = Reader::new(&bytes[..], 9).expect("a header");
            assert!(reader.read().expect("its samples are taken from the next frame").is_some());
            let error = reader.read().expect_err("it is not where it should be");
            assert_eq!((error.broken_at(), error.to_string().contains("odd widths")), (Some(1), is_named), "{kind}");
        }
    }

    #[test]
    fn sizes_are_refused_by_the_header() {
        let header = |width: u64, height: u64| format!("YUV4MPEG2 W{width} H{height} F25:1 C444\n").into_bytes();
        let most = 16_384;
        for (width, height) in [(most, most), (u64::from(u32::MAX), u64::from(u32::MAX)), (1001, 1)] {
            assert!(matches!(Reader::new(&header(width, height)[..], 1000), Err(Error::Limit { max: 1000, .. })));
        }
        for (width, height) in [(most + 1, 1), (1, most + 1), (0, 1), (1 << 32, 1), (1 << 40, 0)] {
            assert!(matches!(Reader::new(&header(width, height)[..], u64::MAX), Err(Error::Corrupt(_))));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_video_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            refusal(&[b"YUV4MPEG2 W3 H3 F25:1 C420\nFRAME\n", &bytes[..]].concat());
            refusal(&bytes);
        }
    }
}
