//! An input that is read again from its beginning when it ends.

use std::io::{self, Read};

use nestcast_codec::Matrix;
use nestcast_media::{matroska, y4m};

/// Opens an input again.
pub(crate) type Again<R> = Box<dyn FnMut() -> io::Result<R> + Send>;

/// The reader of a format of video.
pub(crate) trait VideoReader<R>: Sized {
    type Error: From<io::Error>;

    /// Reads the beginning. Refuses pictures of more than `max_pixels`; the matrix of the others is `matrix`, or that of
    /// the input.
    fn begin(input: R, max_pixels: u64, matrix: Option<Matrix>) -> Result<Self, Self::Error>;
}

impl<R: Read> VideoReader<R> for y4m::Reader<R> {
    type Error = y4m::Error;

    fn begin(input: R, max_pixels: u64, matrix: Option<Matrix>) -> Result<Self, y4m::Error> {
        Ok(Self::new(input, max_pixels)?.with_matrix(matrix).with_max_bits(16))
    }
}

impl<R: Read> VideoReader<R> for matroska::Reader<R> {
    type Error = matroska::Error;

    fn begin(input: R, max_pixels: u64, matrix: Option<Matrix>) -> Result<Self, matroska::Error> {
        Ok(Self::new(input, max_pixels)?.with_matrix(matrix))
    }
}

/// A reader, and what it takes to begin again.
pub(crate) struct Repeated<R, V> {
    pub(crate) reader: V,
    max_pixels: u64,
    matrix: Option<Matrix>,
    again: Option<Again<R>>,
}

impl<R, V: VideoReader<R>> Repeated<R, V> {
    /// Reads the beginning of `input`. When it ends, `again` opens it again.
    pub(crate) fn begin(
        input: R,
        max_pixels: u64,
        matrix: Option<Matrix>,
        again: Option<Again<R>>,
    ) -> Result<Self, V::Error> {
        Ok(Self { reader: V::begin(input, max_pixels, matrix)?, max_pixels, matrix, again })
    }

    /// Returns whether the input is read again when it ends.
    pub(crate) const fn is_repeated(&self) -> bool {
        self.again.is_some()
    }

    /// Reads the beginning again, and returns the reader before; `None` if the input is read once.
    pub(crate) fn restart(&mut self) -> Result<Option<V>, V::Error> {
        let Some(again) = &mut self.again else { return Ok(None) };
        let reader = V::begin(again()?, self.max_pixels, self.matrix)?;
        Ok(Some(std::mem::replace(&mut self.reader, reader)))
    }
}
