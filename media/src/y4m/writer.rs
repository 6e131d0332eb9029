//! Writes y4m: pictures as they lie in memory, 4:2:0 of 8 to 16 bits a sample or mono.

use std::io::{self, Write};

use nestcast_codec::{Display, Format, FrameRate, Picture, Range, Scan, Siting, Size, Ycbcr};

/// The line before a picture.
const FRAME_LINE: &[u8] = b"FRAME\n";
const OTHER_SIZE: &str = "the video changed its size, and y4m cannot: begin again";
const OTHER_FORMAT: &str = "the video changed its range, matrix or bits a sample, and y4m cannot: begin again";

/// Writes pictures as a y4m stream. The first one fixes size and format.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    rate: FrameRate,
    shape: Option<(Size, Format)>,
    /// The bytes of the header and of all whole pictures.
    whole: u64,
    /// The number of whole pictures.
    pictures: u64,
    display: Display,
}

impl<W: Write> Writer<W> {
    /// Progressive, with square pixels and colour differences in the middle.
    const SQUARE_PIXELS: Display = Display { siting: Siting::Centre, scan: Scan::Progressive, aspect: [1, 1] };

    /// Writes pictures at `rate`.
    pub const fn new(output: W, rate: FrameRate) -> Self {
        Self { output, rate, shape: None, whole: 0, pictures: 0, display: Self::SQUARE_PIXELS }
    }

    /// Sets how to show the frames. It has no effect after the first picture.
    pub const fn set_display(&mut self, display: Display) {
        self.display = display;
    }

    /// Returns whether no whole picture is written yet.
    pub const fn is_empty(&self) -> bool {
        self.pictures == 0
    }

    /// Returns the number of whole pictures.
    pub const fn pictures(&self) -> u64 {
        self.pictures
    }

    /// Announces that pictures of `size` at `rate` follow.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the pictures before had another size or rate.
    pub fn expect(&mut self, size: Size, rate: FrameRate) -> io::Result<()> {
        match self.shape {
            Some((before, _)) if before != size => Err(refused(OTHER_SIZE)),
            Some(_) if self.rate != rate => {
                Err(refused("the video changed its frame rate, and y4m cannot: begin again"))
            }
            Some(_) => Ok(()),
            None => {
                self.rate = rate;
                Ok(())
            }
        }
    }

    /// Writes one picture, of planar YCbCr 4:2:0 or grey of 8 bits, and flushes it.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidInput`] if the picture has another size or format than the first, or is
    /// RGB.
    pub fn write(&mut self, picture: &Picture) -> io::Result<()> {
        let shape = (picture.size(), picture.format());
        match self.shape {
            None => {
                self.header(shape)?;
                self.shape = Some(shape);
            }
            Some(first) if first == shape => {}
            Some((size, _)) => return Err(refused(if size == shape.0 { OTHER_FORMAT } else { OTHER_SIZE })),
        }
        self.output.write_all(FRAME_LINE)?;
        self.output.write_all(picture.samples())?;
        self.output.flush()?;
        self.whole += (FRAME_LINE.len() + picture.samples().len()) as u64;
        self.pictures += 1;
        Ok(())
    }

    /// Returns the bytes up to the end of the last whole picture. A failed write may leave more bytes, which belong to
    /// no picture.
    pub const fn whole_bytes(&self) -> u64 {
        self.whole
    }

    /// Forgets the last pictures, up to `count`, for a caller that cuts them off the output. Returns the bytes that stay.
    pub fn forget(&mut self, count: u64) -> u64 {
        if let Some((size, format)) = self.shape {
            let count = count.min(self.pictures);
            self.pictures -= count;
            self.whole -= count * (FRAME_LINE.len() + format.bytes(size)) as u64;
        }
        self.whole
    }

    /// Returns the output by reference.
    pub const fn get_ref(&self) -> &W {
        &self.output
    }

    /// Returns the output by mutable reference.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn header(&mut self, (size, format): (Size, Format)) -> io::Result<()> {
        let samples = match format {
            Format::Ycbcr420(colours) => {
                let siting = match self.display.siting {
                    Siting::Centre => "jpeg",
                    Siting::Left => "mpeg2",
                    Siting::PalDv => "paldv",
                };
                format!("C420{siting} XCOLORRANGE={}", range(colours))
            }
            // No name of more than 8 bits states the siting.
            Format::Ycbcr420Deep { colours, bits } => {
                format!("C420p{bits} XYSCSS=420P{bits} XCOLORRANGE={}", range(colours))
            }
            Format::Grey => "Cmono XCOLORRANGE=FULL".to_owned(),
            _ => return Err(refused("y4m has luma and colour differences, and no RGB")),
        };
        let frames = self.rate.frames();
        let seconds = self.rate.seconds();
        let width = size.width();
        let height = size.height();
        let scan = match self.display.scan {
            Scan::Progressive => 'p',
            Scan::TopFirst => 't',
            Scan::BottomFirst => 'b',
            Scan::Mixed => 'm',
        };
        let [across, down] = self.display.aspect;
        let line = format!("YUV4MPEG2 W{width} H{height} F{frames}:{seconds} I{scan} A{across}:{down} {samples}\n");
        self.output.write_all(line.as_bytes())?;
        self.whole += line.len() as u64;
        Ok(())
    }
}

const fn range(colours: Ycbcr) -> &'static str {
    match colours.range {
        Range::Full => "FULL",
        Range::Limited => "LIMITED",
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    #[test]
    fn what_is_written_is_read_again_as_it_was() {
        for (width, height) in [(1, 1), (3, 2), (2, 3), (33, 31), (16, 16)] {
            let deep = |bits| Format::Ycbcr420Deep { colours: Ycbcr::BT601, bits };
            let planar = [Ycbcr::BT601, Ycbcr::BT601_FULL].map(Format::Ycbcr420);
            for format in [Format::Grey, planar[0], planar[1], deep(10), deep(12), deep(16)] {
                let size = Size::new(width, height).expect("a valid size");
                let picture = |first: u8| {
                    // Upper bytes that samples of 10 bits have.
                    let byte = |i: usize| if format.planes() > 1 && i % 2 == 1 { 3 } else { i % 251 };
                    let samples = (0..format.bytes(size)).map(|i| byte(i).to_le_bytes()[0] ^ first).collect();
                    Picture::new(size, format, samples).expect("the shape fits")
                };
                let mut writer = Writer::new(Vec::new(), FrameRate::new(30_000, 1001).expect("a rate"));
                (0..3).for_each(|first| writer.write(&picture(first)).expect("memory takes it"));
                let bytes = writer.into_inner();
                let mut reader = Reader::new(&bytes[..], 10_000).expect("a header").with_max_bits(16);
                assert_eq!((reader.size(), reader.format(), reader.rate().seconds()), (size, format, 1001));
                for first in 0..3 {
                    assert_eq!(reader.read().expect("a frame"), Some(picture(first)));
                }
                assert_eq!(reader.read().expect("the end"), None);
            }
        }
    }

    #[test]
    fn how_frames_are_shown_is_written_as_it_was_read() {
        for (fields, written) in [
            ("Ip A1:1 C420jpeg", "Ip A1:1 C420jpeg"),
            ("It A16:11 C420mpeg2", "It A16:11 C420mpeg2"),
            ("Ib A32:22 C420paldv", "Ib A16:11 C420paldv"),
            ("Im A0:0 C420", "Im A1:1 C420jpeg"),
            ("I? C422", "Ip A1:1 C420mpeg2"),
        ] {
            let header = format!("YUV4MPEG2 W2 H2 F25:1 {fields} XYSCSS=420\nFRAME\n123456xx");
            let mut reader = Reader::new(header.as_bytes(), 100).expect("a header");
            let mut writer = Writer::new(Vec::new(), reader.rate());
            writer.set_display(reader.display());
            writer.write(&reader.read().expect("a frame").expect("one")).expect("memory takes it");
            let line = String::from_utf8(writer.into_inner()).expect("text");
            assert!(line.starts_with(&format!("YUV4MPEG2 W2 H2 F25:1 {written} ")), "{line}");
        }
    }

    #[test]
    fn a_video_keeps_its_size_and_rate_from_its_first_picture_on() {
        let size = |width| Size::new(width, 2).expect("a valid size");
        let rate = |frames, seconds| FrameRate::new(frames, seconds).expect("a rate");
        let mut writer = Writer::new(Vec::new(), rate(30, 1));
        assert!(writer.is_empty());
        writer.expect(size(4), rate(25, 1)).expect("there is no picture yet");
        writer.write(&Picture::zero(size(2), Format::Grey)).expect("memory takes it");
        writer.expect(size(2), rate(50, 2)).expect("the same rate");
        let mut refusal = |width, frames| writer.expect(size(width), rate(frames, 1)).expect_err("another").to_string();
        assert!(refusal(2, 30).contains("frame rate") && refusal(4, 25).contains("size"));
        assert!(!writer.is_empty() && writer.into_inner().starts_with(b"YUV4MPEG2 W2 H2 F25:1 "));
    }

    #[test]
    fn a_video_keeps_its_shape_and_has_no_rgb() {
        let size = Size::new(2, 2).expect("a valid size");
        let mut writer = Writer::new(Vec::new(), FrameRate::new(30, 1).expect("a rate"));
        let mut refused = |format: Format| {
            let outcome = writer.write(&Picture::zero(size, format));
            outcome.is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
        };
        assert!(refused(Format::Rgb) && !refused(Format::Grey) && refused(Format::Ycbcr420(Ycbcr::BT601_FULL)));
        let mut refusal = |width, format: Format| {
            let picture = Picture::zero(Size::new(width, 2).expect("a valid size"), format);
            writer.write(&picture).expect_err("another shape").to_string()
        };
        assert!(refusal(2, Format::Ycbcr420(Ycbcr::BT601)).contains("changed its range, matrix or bits"));
        assert!(refusal(4, Format::Grey).contains("changed its size"));
    }
}
