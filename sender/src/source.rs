//! Where pictures come from.

use std::io::Read;

use nestcast_codec::{Channels, Picture, Size};
use nestcast_media::y4m::{self, Rate, Reader};

use crate::Error;

/// Pictures in a sequence; it ends with the first `None`.
pub type Pictures = Box<dyn FnMut() -> Result<Option<Picture>, Error> + Send>;

/// A sequence of pictures of one size at one rate.
pub struct Source {
    pub(crate) size: Size,
    pub(crate) rate: Rate,
    pub(crate) next: Pictures,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("size", &self.size).field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl Source {
    /// Pictures that `next` gives, all of `size`.
    pub fn pictures(size: Size, rate: Rate, next: Pictures) -> Self {
        Self { size, rate, next }
    }

    /// One picture, again and again.
    pub fn still(picture: Picture, rate: Rate) -> Self {
        Self::pictures(picture.size(), rate, Box::new(move || Ok(Some(picture.clone()))))
    }

    /// y4m at its own rate. `again` opens it anew when it ends, to begin from its first frame.
    ///
    /// # Errors
    /// If it is no y4m that can be read, or a frame has more than `max_pixels`.
    pub fn video<R: Read + Send + 'static>(
        name: &str,
        max_pixels: u64,
        input: R,
        mut again: Option<Box<dyn FnMut() -> std::io::Result<R> + Send>>,
    ) -> Result<Self, Error> {
        let name = name.to_owned();
        let failed = move |error: y4m::Error| Error::Video { name: name.clone(), error };
        let mut reader = Reader::new(input, max_pixels).map_err(&failed)?;
        let (size, rate) = (reader.size(), reader.rate());
        let next = move || {
            if let Some(picture) = reader.read().map_err(&failed)? {
                return Ok(Some(picture));
            }
            let Some(again) = &mut again else { return Ok(None) };
            reader = again().map_err(Into::into).and_then(|input| Reader::new(input, max_pixels)).map_err(&failed)?;
            if reader.size() != size {
                return Err(failed(y4m::Error::Corrupt("it has another size than before")));
            }
            reader.read().map_err(&failed)
        };
        Ok(Self::pictures(size, rate, Box::new(next)))
    }

    /// The size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Frames per second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The next picture, if it has the size that was announced.
    pub(crate) fn next(&mut self) -> Result<Option<Picture>, Error> {
        let picture = (self.next)()?;
        match picture {
            Some(picture) if picture.size() != self.size => {
                let (is, was) = (picture.size(), self.size);
                Err(Error::Source(format!(
                    "a picture is {}x{} where those before it were {}x{}: scale them to one size",
                    is.width(),
                    is.height(),
                    was.width(),
                    was.height()
                )))
            }
            other => Ok(other),
        }
    }
}

/// Bytes of the base of a picture: 0.05 bits a pixel show the whole of it, and one small packet takes them.
pub(crate) fn base_bytes(size: Size, channels: Channels) -> usize {
    const MIN_BASE_BYTES: usize = 64;
    const MAX_BASE_BYTES: usize = 1000;
    (size.pixels() * channels.count() / 480).clamp(MIN_BASE_BYTES, MAX_BASE_BYTES)
}
