//! A picture's stream in a file or a pipe: the header is looked at before more than it is read.

use std::io::{self, Read};

use nestcast_codec::{Header, MAX_HEADER, Parsed, Size, Stream};

use crate::{Kind, Source};

/// More bytes than any picture's stream needs: so many a pixel, and so many besides.
const MOST_PIXEL_BYTES: u64 = 8;
const MOST_BYTES: u64 = 1 << 20;

/// What is wrong with a stream's file. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// Another file that this crate reads.
    #[error("it is {0}, not a stream")]
    Kind(Kind),
    /// No stream, or one that breaks the specification.
    #[error(transparent)]
    Codec(#[from] nestcast_codec::Error),
    /// Too few bytes to show anything.
    #[error("it ends inside its header, after {0} bytes")]
    Header(usize),
    /// More bytes than any stream of such a picture has.
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
/// use nestcast_media::{Source, stream::Reader};
///
/// let picture = Picture::new(Size::new(40, 20)?, Channels::Grey, vec![100; 800])?;
/// let stream = Codec::photo().encode(&picture)?;
/// let reader = Reader::new(Source::new(&stream.bytes()[..]))?;
/// assert_eq!(reader.header().size, picture.size()); // memory is taken after this
/// assert_eq!(reader.read(None)?, stream);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    header: Header,
    header_bytes: usize,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is no stream, or its header is not whole.
    pub fn new(mut source: Source<R>) -> Result<Self, Error> {
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

    /// What the stream says of itself.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The header's length in bytes.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Reads all, or the first `most` bytes.
    ///
    /// # Errors
    /// Those of the system; [`Error::Length`] if there are more than any stream of such a picture has.
    pub fn read(self, most: Option<usize>) -> Result<Stream, Error> {
        let Self { mut source, header: Header { size, .. }, .. } = self;
        let limit = size.pixels() as u64 * MOST_PIXEL_BYTES + MOST_BYTES;
        let wanted = most.map_or(u64::MAX, |most| most as u64);
        if source.read_to(wanted.min(limit + 1))?.len() as u64 > limit {
            return Err(Error::Length { most: limit, size });
        }
        Ok(Stream::new(source.into_bytes().into())?)
    }
}
