//! Reads an input's contents within limits; errors name the input.

use nestcast_codec::Size;

use super::{Input, InputError, Opened};
use crate::picture::{self, Decoded, Samples};
use crate::{FrameRange, Replayed, stored, stream, y4m};

/// Every method checks before it allocates memory for pixels. It refuses a file of another kind, a damaged file, and a
/// picture or frame of more than `max_pixels` pixels.
impl Input<'_> {
    /// Reads a PNG, JPEG or WebP picture, recognised by its content.
    ///
    /// # Errors
    /// As [`picture::read`].
    pub fn picture(self, max_pixels: u64) -> Result<Decoded, InputError> {
        self.picture_as(max_pixels, Samples::Shown)
    }

    /// As [`picture`](Self::picture), with these samples.
    ///
    /// # Errors
    /// As [`picture::read`].
    pub fn picture_as(self, max_pixels: u64, samples: Samples) -> Result<Decoded, InputError> {
        let name = self.name();
        picture::read_as(self.source, max_pixels, samples).map_err(|error| InputError::named(&name, error))
    }

    /// Returns the size of the picture that [`picture`](Self::picture) would read, in most cases from the file's first
    /// 64 kB.
    ///
    /// # Errors
    /// As [`picture::read_size`].
    pub fn picture_size(self, max_pixels: u64) -> Result<Size, InputError> {
        let name = self.name();
        picture::read_size(self.source, max_pixels).map_err(|error| InputError::named(&name, error))
    }

    /// Reads the header of a picture's stream, which contains the size.
    ///
    /// # Errors
    /// As [`stream::Reader::new`].
    pub fn stream(self) -> Result<stream::Reader<Opened>, InputError> {
        let name = self.name();
        stream::Reader::new(self.source).map_err(|error| InputError::named(&name, error))
    }

    /// Reads the header of a y4m video and returns its frames.
    ///
    /// # Errors
    /// As [`y4m::Frames::new`].
    pub fn y4m(self, range: FrameRange, max_pixels: u64) -> Result<y4m::Frames<Replayed<Opened>>, InputError> {
        let name = self.name();
        y4m::Frames::new(self.into_reader(), range, max_pixels).map_err(|error| InputError::named(&name, error))
    }

    /// Reads the header of a stored video and returns its frames.
    ///
    /// # Errors
    /// As [`stored::Reader::new`].
    pub fn stored_video(
        self,
        range: FrameRange,
        max_pixels: u64,
    ) -> Result<stored::Frames<Replayed<Opened>>, InputError> {
        let name = self.name();
        let reader = stored::Reader::new(self.into_reader(), max_pixels);
        let reader = reader.map_err(|error| InputError::named(&name, error))?;
        Ok(stored::Frames::new(reader, range.into()))
    }
}
