//! What an input holds, read within limits or refused by its name.

use nestcast_codec::Size;

use super::{Input, InputError, Opened};
use crate::picture::{self, Decoded};
use crate::{FrameRange, Replayed, stored, stream, y4m};

/// Every method refuses what is no such file, is not sound or has more than `max_pixels` pixels, a picture or a frame, before memory is
/// taken for them.
impl Input<'_> {
    /// A PNG or JPEG picture, known by its content.
    ///
    /// # Errors
    /// As [`picture::read`].
    pub fn picture(self, max_pixels: u64) -> Result<Decoded, InputError> {
        let name = self.name();
        picture::read(self.source, max_pixels).map_err(|error| InputError::named(&name, error))
    }

    /// The size of the picture that [`picture`](Self::picture) would give, in most cases from its first 64 kB.
    ///
    /// # Errors
    /// As [`picture::read_size`].
    pub fn picture_size(self, max_pixels: u64) -> Result<Size, InputError> {
        let name = self.name();
        picture::read_size(self.source, max_pixels).map_err(|error| InputError::named(&name, error))
    }

    /// A picture's stream, of which the header is read: it has the size.
    ///
    /// # Errors
    /// As [`stream::Reader::new`].
    pub fn stream(self) -> Result<stream::Reader<Opened>, InputError> {
        let name = self.name();
        stream::Reader::new(self.source).map_err(|error| InputError::named(&name, error))
    }

    /// The frames of a y4m video, of which the header is read.
    ///
    /// # Errors
    /// As [`y4m::Frames::new`].
    pub fn y4m(self, range: FrameRange, max_pixels: u64) -> Result<y4m::Frames<Replayed<Opened>>, InputError> {
        let name = self.name();
        y4m::Frames::new(self.into_reader(), range, max_pixels).map_err(|error| InputError::named(&name, error))
    }

    /// The frames of a stored video, of which the header is read.
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
