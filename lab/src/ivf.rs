//! IVF, the container that the layers' encoders write: a header of 32 bytes, and 12 before each frame.

use anyhow::{Context, Result, ensure};
use nestcast_codec::{FrameRate, Size};

/// The header's first bytes.
const MAGIC_BYTES: &[u8; 4] = b"DKIF";
const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 12;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ivf {
    header: [u8; HEADER_BYTES],
    /// Time and bytes of each frame.
    frames: Vec<(u64, Vec<u8>)>,
}

impl Ivf {
    /// Starts a file without frames. `codec` is its code of four letters, such as `AV01`; times count frames.
    ///
    /// # Errors
    /// If a side has 2^16 pixels or more.
    pub fn new(codec: [u8; 4], size: Size, rate: FrameRate) -> Result<Self> {
        let mut header = [0; HEADER_BYTES];
        let fields: [(usize, &[u8]); 7] = [
            (0, MAGIC_BYTES),
            (6, &u16::try_from(HEADER_BYTES)?.to_le_bytes()),
            (8, &codec),
            (12, &u16::try_from(size.width())?.to_le_bytes()),
            (14, &u16::try_from(size.height())?.to_le_bytes()),
            (16, &rate.frames().to_le_bytes()),
            (20, &rate.seconds().to_le_bytes()),
        ];
        for (at, bytes) in fields {
            header[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Ok(Self { header, frames: Vec::new() })
    }

    /// Adds a frame.
    pub fn push(&mut self, time: u64, bytes: &[u8]) {
        self.frames.push((time, bytes.to_vec()));
    }

    /// Returns the bytes of every frame in turn, without the container's.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.frames.iter().map(|(_, bytes)| &bytes[..])
    }

    /// Parses a file.
    ///
    /// # Errors
    /// If it is no IVF file, or its last frame is not whole.
    pub fn parse(file: &[u8]) -> Result<Self> {
        let (header, mut rest) = file.split_first_chunk().context("an IVF file begins with a header of 32 bytes")?;
        ensure!(header.starts_with(MAGIC_BYTES), "it is no IVF file");
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (size, after) = rest.split_first_chunk().context("a frame's header is cut off")?;
            let (time, after) = after.split_first_chunk().context("a frame's header is cut off")?;
            let size = usize::try_from(u32::from_le_bytes(*size))?;
            let (bytes, after) = after.split_at_checked(size).context("the last frame is not whole")?;
            frames.push((u64::from_le_bytes(*time), bytes.to_vec()));
            rest = after;
        }
        Ok(Self { header: *header, frames })
    }

    /// Joins successive frames of one time: libaom writes the frame of each layer by itself, and a decoder must get
    /// those of one picture together.
    #[must_use]
    pub fn joined(mut self) -> Self {
        let mut joined: Vec<(u64, Vec<u8>)> = Vec::with_capacity(self.frames.len());
        for (time, bytes) in self.frames {
            match joined.last_mut().filter(|last| last.0 == time) {
                Some((_, before)) => before.extend(bytes),
                None => joined.push((time, bytes)),
            }
        }
        self.frames = joined;
        self
    }

    /// Returns the number of bytes of every frame, without the container's.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.frames().map(<[u8]>::len).collect()
    }

    /// Returns the file's bytes.
    ///
    /// # Errors
    /// If a frame has 2^32 bytes or more.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let all: usize = self.frames.iter().map(|(_, bytes)| FRAME_HEADER_BYTES + bytes.len()).sum();
        let mut file = Vec::with_capacity(HEADER_BYTES + all);
        file.extend(self.header);
        for (time, bytes) in &self.frames {
            file.extend(u32::try_from(bytes.len())?.to_le_bytes());
            file.extend(time.to_le_bytes());
            file.extend(bytes);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pictures of two layers, and one of a single layer.
    fn file() -> Vec<u8> {
        let mut file = b"DKIF\0\0\x20\0AV01".to_vec();
        file.resize(HEADER_BYTES, 7);
        for (time, bytes) in [(0_u8, &b"base"[..]), (0, b"more"), (1, b"b"), (1, b"mm"), (5, b"")] {
            file.extend([u8::try_from(bytes.len()).expect("short"), 0, 0, 0, time, 0, 0, 0, 0, 0, 0, 0]);
            file.extend(bytes);
        }
        file
    }

    #[test]
    fn frames_of_one_time_are_one_picture() {
        let ivf = Ivf::parse(&file()).expect("parses");
        assert_eq!(ivf.sizes(), [4, 4, 1, 2, 0]);
        assert_eq!(ivf.bytes().expect("small"), file());
        let joined = ivf.joined();
        assert_eq!(joined.sizes(), [8, 3, 0]);
        assert_eq!(joined.frames[0], (0, b"basemore".to_vec()));
        assert_eq!(Ivf::parse(&joined.bytes().expect("small")).expect("parses"), joined);
    }

    #[test]
    fn a_file_of_given_frames_has_their_bytes() {
        let size = Size::new(320, 240).expect("a size");
        let mut ivf = Ivf::new(*b"VP90", size, FrameRate::new(30_000, 1001).expect("a rate")).expect("a small size");
        ivf.push(0, b"ab");
        ivf.push(1, b"");
        let file = ivf.bytes().expect("small");
        assert_eq!(file[..16], *b"DKIF\0\0\x20\0VP90\x40\x01\xf0\0");
        assert_eq!(file[16..32], [0x30, 0x75, 0, 0, 0xe9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let parsed = Ivf::parse(&file).expect("parses");
        assert_eq!(parsed.frames().collect::<Vec<_>>(), [&b"ab"[..], b""]);
        assert_eq!(parsed, ivf);
    }

    #[test]
    fn other_and_torn_files_are_refused() {
        let file = file();
        assert!(Ivf::parse(b"DKIF").is_err());
        assert!(Ivf::parse(&[0; 64]).is_err());
        // Two of the cuts are ends of frames.
        let whole: Vec<usize> = (HEADER_BYTES..file.len()).filter(|&end| Ivf::parse(&file[..end]).is_ok()).collect();
        assert_eq!(whole, [32, 48, 64, 77, 91]);
    }
}
