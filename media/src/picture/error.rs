//! Why a picture file was refused, and what a picture lost when it was read.

use std::io;

use crate::Kind;

/// What is wrong with a picture file. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another format, or none.
    #[error("it is neither PNG nor JPEG: convert it first")]
    Format,
    /// The bytes break their format, or some are missing.
    #[error("{0}")]
    Corrupt(String),
    /// A kind of PNG or JPEG that is not read.
    #[error("{0}")]
    Unsupported(&'static str),
    /// More pixels than agreed.
    #[error("it has {given} pixels, over the limit of {max}")]
    Pixels {
        /// The picture's.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// Another file that this crate reads.
    #[error("it is {0}, not a picture")]
    Kind(Kind),
    /// More bytes than a file of a picture of this size may have.
    #[error("it has more than {limit} bytes, too many for {max_pixels} pixels")]
    Length {
        /// Bytes that it may have.
        limit: u64,
        /// Pixels that it may have.
        max_pixels: u64,
    },
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It would cost more memory or work than any picture of its size is worth.
    #[error("{0}")]
    Cost(String),
}

impl From<image::ImageError> for Error {
    fn from(error: image::ImageError) -> Self {
        Self::Corrupt(error.to_string())
    }
}

impl From<nestcast_codec::Error> for Error {
    fn from(error: nestcast_codec::Error) -> Self {
        Self::Corrupt(error.to_string())
    }
}

/// What of a file its picture does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// A colour profile other than sRGB's.
    #[error("nestcast drops its colour profile and reads its colours as sRGB")]
    Profile,
    /// The lower bits of 16.
    #[error("it has 16 bits a sample: nestcast rounds them to 8")]
    Depth,
    /// Transparency.
    #[error("it is partly transparent: nestcast lays it over white")]
    Transparency,
    /// All pictures but the first.
    #[error("it is animated: nestcast uses its first picture")]
    Animation,
    /// Ink.
    #[error("it is CMYK: nestcast converts its colours without a profile, so they may differ from print")]
    Cmyk,
}
