//! A picture's stream in memory.

use bytes::Bytes;

use crate::error::Error;
use crate::stream::header::{Header, Parsed};

/// The stream of one picture, ordered so that every prefix is a stream too.
///
/// A clone shares the memory. It gives its bytes by [`AsRef`], and converts from and into [`Bytes`] and `Vec<u8>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    bytes: Bytes,
}

impl Stream {
    /// Wraps bytes that begin with a header.
    pub(crate) const fn of(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// Wraps a stream, or a prefix of one that contains at least its header.
    ///
    /// # Errors
    /// As [`Header::parse`]; [`Error::Corrupt`] if the header is not complete.
    pub fn new(bytes: Bytes) -> Result<Self, Error> {
        match Header::parse(&bytes)? {
            Parsed::Complete(..) => Ok(Self { bytes }),
            Parsed::NeedMore(_) => Err(Error::Corrupt { what: "stream", why: "it ends inside its header" }),
        }
    }

    /// Returns the stream's header.
    #[must_use]
    pub fn header(&self) -> Header {
        match Header::parse(&self.bytes) {
            Ok(Parsed::Complete(header, _)) => header,
            _ => unreachable!("a stream begins with a complete header"),
        }
    }

    /// Returns the number of bytes, header included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no bytes: never, because a stream has at least its header.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns all bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the first `count` bytes, or all if there are fewer, without a copy: both share the memory.
    #[must_use]
    pub fn prefix(&self, count: usize) -> Bytes {
        self.bytes.slice(..count.min(self.bytes.len()))
    }
}

impl AsRef<[u8]> for Stream {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Stream> for Bytes {
    fn from(stream: Stream) -> Self {
        stream.bytes
    }
}

impl From<Stream> for Vec<u8> {
    fn from(stream: Stream) -> Self {
        stream.bytes.into()
    }
}

impl TryFrom<Bytes> for Stream {
    type Error = Error;

    /// As [`Stream::new`].
    fn try_from(bytes: Bytes) -> Result<Self, Error> {
        Self::new(bytes)
    }
}

impl TryFrom<Vec<u8>> for Stream {
    type Error = Error;

    /// As [`Stream::new`].
    fn try_from(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::new(bytes.into())
    }
}

impl TryFrom<&[u8]> for Stream {
    type Error = Error;

    /// As [`Stream::new`], of a copy.
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(Bytes::copy_from_slice(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channels, Codec, Picture, Size};

    #[test]
    fn a_stream_converts_to_bytes_and_back_and_a_part_of_a_header_does_not() {
        let picture = Picture::zero(Size::new(9, 7).expect("a size"), Channels::Grey);
        let stream = Codec::photo().encode(&picture).expect("a stream");
        let bytes: Bytes = stream.clone().into();
        assert_eq!((bytes.len(), stream.is_empty()), (stream.len(), false));
        assert_eq!(Stream::try_from(bytes).as_ref(), Ok(&stream));
        assert_eq!(Stream::try_from(stream.as_ref()), Ok(stream.clone()));
        assert_eq!(Stream::try_from(Vec::from(stream.clone())), Ok(stream.clone()));
        assert!(matches!(Stream::try_from(&stream.as_ref()[..5]), Err(Error::Corrupt { .. })));
    }
}
