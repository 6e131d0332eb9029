//! Errors, grouped by who must act.

use std::fmt;

/// The first six bytes of the SHA-256 of a model's tables; every stream contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(pub [u8; 6]);

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The reason why a picture, stream or model was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes break the specification: the sender must send them again.
    #[error("corrupt {what}: {why}")]
    Corrupt {
        /// What was read: "stream", "frame", "video", "model" or "post-filter".
        what: &'static str,
        /// The clause that the bytes break.
        why: &'static str,
    },
    /// This build does not know this version of the format: get a nestcast that does.
    #[error("unsupported {what} version {version}; this build reads {}: {}", read(*known), advice(*version, *known))]
    Version {
        /// What was read: "stream", "video" or "model".
        what: &'static str,
        /// The version that the bytes name.
        version: u8,
        /// The newest version that this build reads; it reads those before it too, from 1 on.
        known: u8,
    },
    /// The stream or the coefficients belong to another model: use that one.
    #[error("unsupported model {needed}: the stream needs it, but {given} was given")]
    Model {
        /// The model that the stream or the coefficients name.
        needed: ModelId,
        /// The model at hand.
        given: ModelId,
    },
    /// The input is larger than this process agreed to handle: raise the limit or make the input smaller.
    #[error("{what} is {given}, over the limit of {max}")]
    Limit {
        /// The quantity that is too large.
        what: Quantity,
        /// Its value.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// The caller passed arguments that do not fit together.
    #[error("invalid argument: {0}")]
    Argument(&'static str),
}

/// What [`Error::Limit`] limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The pixels of a picture.
    Pixels,
    /// The same, more for its opacity and its bits a sample:
    /// [`Header::weighed_pixels`](crate::Header::weighed_pixels).
    WeighedPixels,
    /// The pixels of a frame of video.
    FramePixels,
    /// The longer side of a picture in pixels.
    Side,
    /// The frames a second of a video.
    FramesPerSecond,
    /// The numerator or the denominator of a video's frame rate.
    FrameRateTerm,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pixels => "the picture's number of pixels",
            Self::WeighedPixels => "the picture's number of pixels, with its opacity and its bits a sample",
            Self::FramePixels => "the frame's number of pixels",
            Self::Side => "the picture's longer side in pixels",
            Self::FramesPerSecond => "the video's number of frames a second",
            Self::FrameRateTerm => "a number of the video's frame rate",
        })
    }
}

const fn read(known: u8) -> &'static str {
    if known > 1 { "versions 1 and 2" } else { "version 1" }
}

const fn advice(version: u8, known: u8) -> &'static str {
    if version > known { "update nestcast" } else { "get the file again" }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn a_version_that_is_not_read_is_told_with_those_that_are() {
        for (version, known, told) in [
            (3, 2, "unsupported video version 3; this build reads versions 1 and 2: update nestcast"),
            (0, 2, "unsupported video version 0; this build reads versions 1 and 2: get the file again"),
            (2, 1, "unsupported video version 2; this build reads version 1: update nestcast"),
        ] {
            assert_eq!(Error::Version { what: "video", version, known }.to_string(), told);
        }
    }
}
