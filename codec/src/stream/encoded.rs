//! A picture's stream in memory.

use bytes::Bytes;

use crate::error::Error;
use crate::stream::header::{Header, Parsed};

/// The stream of one picture, ordered so that every prefix is a stream too.
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
