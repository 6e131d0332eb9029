//! y4m in.

use std::io::{BufRead, BufReader, Read};

use nestcast_codec::{Channels, Picture, Size};

use super::colour::{self, Planes};
use super::header::{Header, Subsampling};
use super::{Error, Rate};

/// Most bytes of a header's line.
const MAX_LINE: u64 = 4096;

/// Reads pictures from a y4m stream.
#[derive(Debug)]
pub struct Reader<R> {
    input: BufReader<R>,
    header: Header,
    frame: u64,
    bytes: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the header; frames of more than `max_pixels` are refused before memory is taken for them.
    ///
    /// # Errors
    /// If this is no y4m that can be read, with what to do.
    pub fn new(input: R, max_pixels: u64) -> Result<Self, Error> {
        let mut input = BufReader::new(input);
        let line = line(&mut input)?.ok_or(Error::Corrupt("it is empty"))?;
        let header = Header::parse(&line, max_pixels)?;
        Ok(Self { input, header, frame: 0, bytes: vec![0; header.frame_bytes()] })
    }

    /// The size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.header.size
    }

    /// Pictures per second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.header.rate
    }

    /// The next picture, or nothing at the end.
    ///
    /// # Errors
    /// [`Error::Broken`] and [`Error::Lost`] if the video ends or goes on in the wrong place.
    pub fn read(&mut self) -> Result<Option<Picture>, Error> {
        let frame = self.frame;
        let broken = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Broken { frame },
            _ => Error::Io(error),
        };
        match line(&mut self.input) {
            Ok(None) => return Ok(None),
            Ok(Some(line)) if line == "FRAME" || line.starts_with("FRAME ") => {}
            Ok(Some(_)) | Err(Error::Corrupt(_)) => return Err(Error::Lost { frame }),
            Err(error) => return Err(error),
        }
        self.input.read_exact(&mut self.bytes).map_err(broken)?;
        self.frame += 1;
        Ok(Some(self.picture()))
    }

    fn picture(&self) -> Picture {
        let Header { size, subsampling, full_range, .. } = self.header;
        let (luma, chroma) = self.bytes.split_at(size.pixels());
        let (channels, samples) = match subsampling {
            Subsampling::Mono => (Channels::Grey, colour::grey(luma, full_range)),
            Subsampling::C420 | Subsampling::C422 | Subsampling::C444 => {
                let (blue, red) = chroma.split_at(chroma.len() / 2);
                let planes = Planes { luma, blue, red, shifts: subsampling.shifts() };
                (Channels::Rgb, colour::rgb(size, &planes, full_range))
            }
        };
        Picture::new(size, channels, samples).expect("as many samples as the size says")
    }
}

/// A line without its end; nothing at the end of the input.
fn line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(Error::Corrupt("a header's line has no end"));
    }
    String::from_utf8(line).map(Some).map_err(|_| Error::Corrupt("a header's line is no text"))
}

#[cfg(test)]
mod tests {
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
            (b"YUV4MPEG2 W4 H4 F25:1 C420p10\n", "420p10"),
            (b"YUV4MPEG2 W3 H2 F25:1 C422\nFRAME\nabcdefABCD1234", "ended"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nab", "ended"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabFRAME\na", "inside frame 1"),
            (b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabcdFRAME\nabcd", "frame 1 should begin"),
        ] {
            assert!(refusal(bytes).contains(part), "{}", refusal(bytes));
        }
    }

    #[test]
    fn each_pixel_has_the_chroma_sample_of_its_place() {
        // Three by two pixels, all of the same luma; the chroma samples are told apart by their blue.
        for (kind, chroma, expected) in [
            ("420", &[100, 200][..], [100, 100, 200, 100, 100, 200]),
            ("422", &[100, 120, 140, 160], [100, 100, 120, 140, 140, 160]),
            ("444", &[100, 110, 120, 130, 140, 150], [100, 110, 120, 130, 140, 150]),
        ] {
            let header = format!("YUV4MPEG2 W3 H2 F25:1 C{kind} XCOLORRANGE=FULL\nFRAME\n");
            let bytes = [header.as_bytes(), &[50; 6], chroma, &vec![128; chroma.len()]].concat();
            let picture = Reader::new(&bytes[..], 6).expect("a header").read().expect("a frame").expect("one");
            let (pixels, _) = picture.samples().as_chunks::<3>();
            let blue = |chroma: u8| (50.0 + 1.772 * (f64::from(chroma) - 128.0)).clamp(0.0, 255.0);
            for (pixel, chroma) in pixels.iter().zip(expected) {
                assert!((f64::from(pixel[2]) - blue(chroma)).abs() <= 1.0, "{kind}: {pixel:?}, {chroma}");
            }
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
