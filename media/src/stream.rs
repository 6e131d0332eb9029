//! Reads a picture's stream from a file or a pipe: first the header, then the rest.

use std::io::{self, Read};

use nestcast_codec::{Header, MAX_HEADER, Parsed, Size, Stream};

use crate::{Kind, PeekedInput};

/// More bytes than any opaque picture's stream of 8 bits a sample needs: a number for each pixel, and a constant. Others need
/// less than twice as many.
const MOST_PIXEL_BYTES: u64 = 8;
const MOST_BYTES: u64 = 1 << 20;

/// Why a file is refused as a stream. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file is of another kind that this crate reads.
    #[error("it is {0}, not a stream")]
    Kind(Kind),
    /// The file is no stream, or breaks the specification.
    #[error(transparent)]
    Codec(#[from] nestcast_codec::Error),
    /// The stream ends inside its header.
    #[error("it ends inside its header, after {0} bytes")]
    Header(usize),
    /// The file has more bytes than any stream of such a picture.
    #[error("it is longer than {most} bytes, the most that a stream of a {}x{} picture has", size.width(), size.height())]
    Length {
        /// The most that a stream of such a picture has.
        most: u64,
        /// The picture's size.
        size: Size,
    },
}

/// Reads a stream.
///
/// ```
/// use nestcast_codec::{Channels, Codec, Picture, Size};
/// use nestcast_media::{PeekedInput, stream::Reader};
///
/// let picture = Picture::new(Size::new(40, 20)?, Channels::Grey, vec![100; 800])?;
/// let stream = Codec::photo().encode(&picture)?;
/// let reader = Reader::new(PeekedInput::new(&stream.bytes()[..]))?;
/// assert_eq!(reader.header().size, picture.size()); // before memory is allocated
/// assert_eq!(reader.read(None)?, stream);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: PeekedInput<R>,
    header: Header,
    header_bytes: usize,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Error`] if the input is no stream, or ends inside its header.
    pub fn new(mut source: PeekedInput<R>) -> Result<Self, Error> {
        let start = source.read_to(MAX_HEADER as u64)?;
        if start.is_empty() {
            return Err(Error::Empty);
        }
        let parsed = Header::parse(start).map_err(|error| match Kind::of(start) {
            kind @ (Kind::Picture | Kind::Y4m) => Error::Kind(kind),
            _ => error.into(),
        })?;
        let Parsed::Complete(header, header_bytes) = parsed else { return Err(Error::Header(start.len())) };
        Ok(Self { source, header, header_bytes })
    }

    /// Returns the stream's header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the header's length in bytes.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Reads the whole stream, or its first `most` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] from the system; [`Error::Length`] if the file is longer than any stream of such a picture.
    pub fn read(self, most: Option<usize>) -> Result<Stream, Error> {
        let Self { mut source, header, .. } = self;
        let size = header.size;
        let is_usual = header.format() == header.channels.into();
        let of_pixel = if is_usual { MOST_PIXEL_BYTES } else { 2 * MOST_PIXEL_BYTES };
        let limit = size.pixels() as u64 * of_pixel + MOST_BYTES;
        let wanted = most.map_or(u64::MAX, |most| most as u64);
        if source.read_to(wanted.min(limit + 1))?.len() as u64 > limit {
            return Err(Error::Length { most: limit, size });
        }
        Ok(Stream::new(source.into_bytes().into())?)
    }
}
