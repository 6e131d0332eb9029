//! Reads a range of a y4m video's frames, in the format that the encoder needs.

use std::io::Read;

use nestcast_codec::{Display, Format, FrameRate, Matrix, Picture, Size, Ycbcr};

use super::{Error, Note, Reader};
use crate::FrameRange;

/// Returns the frames of a range one after another, in planar YCbCr 4:2:0 even if the video is grey.
///
/// ```
/// use nestcast_media::y4m::Frames;
///
/// let bytes = b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabFRAME\ncd";
/// let mut frames = Frames::new(&bytes[..], "1..".parse()?, 1_000_000)?;
/// let mut picture = frames.picture();
/// assert!(frames.read_into(&mut picture)? && picture.samples().starts_with(b"cd"));
/// assert!(!frames.read_into(&mut picture)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Frames<R> {
    reader: Reader<R>,
    range: FrameRange,
    /// Number of the next frame.
    next: u64,
}

impl<R: Read> Frames<R> {
    /// Reads the header. Refuses frames of more than `max_pixels` before it allocates memory for them.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn new(input: R, range: FrameRange, max_pixels: u64) -> Result<Self, Error> {
        Ok(Self { reader: Reader::new(input, max_pixels)?, range, next: 0 })
    }

    /// Returns the size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.reader.size()
    }

    /// Returns what samples mean, as [`Reader::colours`] does.
    #[must_use]
    pub const fn colours(&self) -> Ycbcr {
        self.reader.colours()
    }

    /// Returns how to show the frames.
    #[must_use]
    pub const fn display(&self) -> Display {
        self.reader.display()
    }

    /// Returns what the pictures lose of the video.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.reader.notes()
    }

    /// Returns the bits of a sample of every picture.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.reader.bits()
    }

    /// Keeps up to `max_bits` bits of a sample, as [`Reader::with_max_bits`] does.
    #[must_use]
    pub fn with_max_bits(self, max_bits: u8) -> Self {
        Self { reader: self.reader.with_max_bits(max_bits), ..self }
    }

    /// Sets the matrix, as [`Reader::with_matrix`] does.
    #[must_use]
    pub fn with_matrix(self, matrix: Option<Matrix>) -> Self {
        Self { reader: self.reader.with_matrix(matrix), ..self }
    }

    /// Returns the pictures per second.
    #[must_use]
    pub const fn rate(&self) -> FrameRate {
        self.reader.rate()
    }

    /// Returns the number of the range's first frame.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.range.start
    }

    /// Returns a picture to read frames into.
    #[must_use]
    pub fn picture(&self) -> Picture {
        Picture::zero(self.size(), Format::planar(self.colours(), self.bits()))
    }

    /// Returns how many frames of the range a file of `bytes` bytes has; `None` if neither the length nor the range
    /// says that.
    #[must_use]
    pub fn count(&self, bytes: Option<u64>) -> Option<u64> {
        let there = bytes.map_or(u64::MAX, |bytes| bytes / self.reader.frame_bytes() as u64);
        let end = there.min(self.range.end);
        (end != u64::MAX).then(|| end.saturating_sub(self.range.start))
    }

    /// Reads the next frame of the range. Returns whether there was one.
    ///
    /// # Errors
    /// As [`Reader::read_into`]; [`Error::NoFrame`] if the range has no frame.
    pub fn read_into(&mut self, picture: &mut Picture) -> Result<bool, Error> {
        while self.next < self.range.end && self.reader.read_into(picture)? {
            self.next += 1;
            if self.next > self.range.start {
                return Ok(true);
            }
        }
        if self.next > self.range.start { Ok(false) } else { Err(Error::NoFrame { there: self.next }) }
    }
}
