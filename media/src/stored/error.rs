//! Errors of stored videos.

use std::io;

use nestcast_codec::ModelId;

/// Why a stored video is refused or not written. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system cannot write.
    #[error(transparent)]
    Write(io::Error),
    /// The file is no stored video, or breaks the specification; or a picture cannot be encoded.
    #[error(transparent)]
    Codec(#[from] nestcast_codec::Error),
    /// The frames need other tables.
    #[error("it needs the models {} and {}, but this nestcast has {} and {}", .needed[0], .needed[1], .given[0], .given[1])]
    Models {
        /// The tables that they need: of frames predicted from nothing, and of residuals.
        needed: [ModelId; 2],
        /// The tables of this build.
        given: [ModelId; 2],
    },
    /// A frame cannot be shown.
    #[error(transparent)]
    Show(#[from] nestcast_codec::TransformError),
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// Frames have more pixels than the limit.
    #[error("its frames have {given} pixels, over the limit of {max}")]
    Limit {
        /// Pixels of a frame.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// A frame is longer than any frame of its size.
    #[error("frame {frame} has {given} bytes, more than any frame of its size can have")]
    Frame {
        /// Its number, from 0.
        frame: u64,
        /// Its length.
        given: u64,
    },
}
