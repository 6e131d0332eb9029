//! Errors of pictures that are to be broadcast.

use std::path::PathBuf;

use nestcast_codec::{EncodeError, Format, MAX_RENDITIONS, Size, Ycbcr};
use nestcast_media::{matroska, stored, y4m};

/// An error in pictures or in the choice of encoding, in one line that says who must act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A video cannot be read.
    #[error("{name}: {error}")]
    Video {
        /// The video's name.
        name: String,
        /// The error in it.
        error: y4m::Error,
    },
    /// Pictures and sound of Matroska cannot be read.
    #[error("{name}: {error}")]
    Matroska {
        /// The file's name.
        name: String,
        /// The error in it.
        error: matroska::Error,
    },
    /// A stored video cannot be read.
    #[error("{name}: {error}")]
    StoredVideo {
        /// The video's name.
        name: String,
        /// The error in it.
        error: stored::Error,
    },
    /// A picture has another size than announced.
    #[error(
        "a picture is {}x{}, but the pictures before it were {}x{}: scale all to one size",
        given.width(), given.height(), announced.width(), announced.height()
    )]
    Size {
        /// The picture's size.
        given: Size,
        /// The size of the pictures before it.
        announced: Size,
    },
    /// A picture has another format or range of values than announced.
    #[error(
        "a picture is {}, but its source announced {}: the source must announce the format that its pictures have, or convert them",
        named(*given), named(*announced)
    )]
    Format {
        /// The picture's format.
        given: Format,
        /// The announced format.
        announced: Format,
    },
    /// Two files have pictures of different sizes.
    #[error(
        "{} is {}x{}, but {} is {}x{}: all pictures of a broadcast need one size, so scale them or move the others away",
        file.display(), given.width(), given.height(), first.display(), size.width(), size.height()
    )]
    Sizes {
        /// One file.
        file: PathBuf,
        /// The size of its picture.
        given: Size,
        /// The first file.
        first: PathBuf,
        /// The size of its picture.
        size: Size,
    },
    /// None of the pictures can be read.
    #[error("it contains no picture that nestcast can read")]
    NoPicture,
    /// Video needs pictures in YCbCr 4:2:0.
    #[error("video needs pictures in YCbCr 4:2:0, but the source announced {}: the source must convert its pictures", announced.map_or("RGB or grey", named))]
    NotPlanar {
        /// The announced format; `None` if pictures are RGB or grey.
        announced: Option<Format>,
    },
    /// A video cannot have this many renditions.
    #[error("a video has 1 to {MAX_RENDITIONS} renditions, not {given}: choose one of these")]
    Renditions {
        /// The number requested.
        given: usize,
    },
    /// A picture cannot be encoded.
    #[error("a picture cannot be encoded: {0}")]
    Encode(#[from] EncodeError),
}

/// Names a format.
fn named(format: Format) -> &'static str {
    match format {
        Format::Grey => "grey",
        Format::Rgb => "RGB",
        Format::Ycbcr420(Ycbcr::BT601_FULL) => "YCbCr 4:2:0 of full range",
        Format::Ycbcr420(Ycbcr::BT601) => "YCbCr 4:2:0 of limited range",
        Format::Ycbcr420Deep { .. } => "YCbCr 4:2:0 of more than 8 bits",
        _ => "another format",
    }
}
