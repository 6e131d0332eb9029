//! Why a picture file was refused, and what a picture lost when it was read.

use std::io;

use crate::Kind;

/// What is wrong with a picture file. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another format, or none.
    #[error("it is no PNG, JPEG or WebP: convert it first")]
    Format,
    /// A picture of a format that is not read, with its name.
    #[error("it is {0}, which nestcast does not read")]
    OtherFormat(&'static str),
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
        use image::ImageError;
        // What the library says is for programmers.
        match error {
            ImageError::Unsupported(_) => {
                Self::Unsupported("it is of a kind that nestcast does not read: save it as a usual PNG")
            }
            ImageError::Limits(_) => Self::Cost("it needs too much memory: save it anew".to_owned()),
            ImageError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => Self::Io(error),
            ImageError::IoError(_) => Self::Corrupt("it ends too early: get the whole file".to_owned()),
            _ => Self::Corrupt("its data are damaged: get it again".to_owned()),
        }
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
    /// Colours that the file declares, in a way that cannot be read.
    #[error("nestcast cannot read what it says of its colours, and takes them as sRGB")]
    Profile,
    /// Light above reference white.
    #[error("it is HDR: nestcast shows all that is brighter than reference white as white")]
    Hdr,
    /// Data that are missing or damaged.
    #[error("it is damaged: nestcast shows what it can decode of it; get it again for the rest")]
    Damaged,
    /// An end that is missing behind whole data.
    #[error("its end marker is missing, but the whole picture is there")]
    NoEnd,
    /// All pictures of the file but the first.
    #[error("it contains several pictures: nestcast uses the first")]
    Several,
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
