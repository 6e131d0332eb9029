//! Errors of picture files, and notes about what a picture lost.

use std::io;

use super::formats;
use crate::Kind;

/// Why a picture file is refused. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is of no format that this crate knows.
    #[error("it is no PNG, JPEG or WebP: convert it first")]
    Format,
    /// The file is of a format that this crate does not read.
    #[error("it is {name}, which nestcast does not read: {advice}", name = .0, advice = formats::advice(.0))]
    OtherFormat(&'static str),
    /// The bytes break their format, or bytes are missing.
    #[error("{0}")]
    Corrupt(&'static str),
    /// The bytes are too few for so large a picture.
    #[error("it would have {pixels} pixels in {bytes} bytes: get it again, its data are missing")]
    Sparse {
        /// The picture's pixels.
        pixels: u64,
        /// The file's bytes.
        bytes: usize,
    },
    /// No picture has the size that the file states.
    #[error(transparent)]
    Size(#[from] nestcast_codec::Error),
    /// The file is of a kind of PNG or JPEG that this crate does not read.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The picture has more pixels than the limit.
    #[error("it has {given} pixels, over the limit of {max}")]
    Pixels {
        /// The picture's.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file is no picture, but of another kind that this crate reads.
    #[error("it is {0}, not a picture")]
    Kind(Kind),
    /// The file has more bytes than a picture within the limit needs.
    #[error("it has more than {limit} bytes, too many for {max_pixels} pixels")]
    Length {
        /// The limit in bytes.
        limit: u64,
        /// The limit in pixels.
        max_pixels: u64,
    },
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file would cost more memory or work than a picture of its size may.
    #[error("{0}")]
    Cost(#[from] Cost),
}

/// What would cost more than a picture of its size may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cost {
    /// Memory, as the library that decodes it counts.
    #[error("it needs too much memory: save it anew")]
    Memory,
    /// Memory for metadata.
    #[error("its metadata needs more than {max} bytes: save it without")]
    Metadata {
        /// The limit in bytes.
        max: u64,
    },
    /// Segments of a JPEG file.
    #[error("it has more than {max} segments: save it anew")]
    Segments {
        /// The limit.
        max: u64,
    },
    /// Scans of a JPEG file.
    #[error("its scans go over the picture more than {max} times, which costs only time: save it anew")]
    Passes {
        /// The limit.
        max: u64,
    },
}

impl From<image::ImageError> for Error {
    fn from(error: image::ImageError) -> Self {
        use image::ImageError;
        // The library's messages are for programmers.
        match error {
            ImageError::Unsupported(_) => {
                Self::Unsupported("it is of a kind that nestcast does not read: save it as a usual PNG")
            }
            ImageError::Limits(_) => Self::Cost(Cost::Memory),
            ImageError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => Self::Io(error),
            ImageError::IoError(_) => Self::Corrupt("it ends too early: get the whole file"),
            _ => Self::Corrupt("its data are damaged: get it again"),
        }
    }
}

/// A property of its file that a picture does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The file declares its colours in a way that cannot be read.
    #[error("nestcast cannot read what it says of its colours, and takes them as sRGB")]
    Profile,
    /// Exif says that the colours are not sRGB, and no profile says what they are.
    #[error("its Exif data say that its colours are not sRGB, and not what they are: nestcast takes them as sRGB")]
    Uncalibrated,
    /// The file is a PNG whose cICP chunk names a matrix.
    #[error(
        "its cICP chunk names a matrix, which PNG does not have: nestcast ignores the chunk; if the colours look wrong, write it with matrix 0"
    )]
    Matrix,
    /// The picture has light above reference white.
    #[error("it is HDR: nestcast shows all that is brighter than reference white as white")]
    Hdr,
    /// Data are missing or damaged.
    #[error("it is damaged: nestcast shows what it can decode of it; get it again for the rest")]
    Damaged,
    /// The end marker is missing, but all data are there.
    #[error("its end marker is missing, but the whole picture is there")]
    NoEnd,
    /// The file contains several pictures.
    #[error("it contains several pictures: nestcast uses the first")]
    Several,
    /// A video follows the picture, as in the motion photos of phones.
    #[error("it contains a video too: nestcast uses the picture")]
    Film,
    /// The file has 16 bits a sample.
    #[error("it has 16 bits a sample: nestcast rounds them to 8")]
    Depth,
    /// The picture is partly transparent.
    #[error("it is partly transparent: nestcast lays it over white")]
    Transparency,
    /// The picture is animated.
    #[error("it is animated: nestcast uses its first picture")]
    Animation,
    /// The file has amounts of ink.
    #[error("it is CMYK: nestcast converts its colours without a profile, so they may differ from print")]
    Cmyk,
}
