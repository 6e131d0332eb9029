//! Why a stored video was refused, or was not written.

use std::io;

use nestcast_codec::ModelId;

/// What is wrong with a stored video. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system cannot read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system cannot write.
    #[error(transparent)]
    Write(io::Error),
    /// No stored video, or one that breaks the specification; or what is written is no video.
    #[error(transparent)]
    Codec(#[from] nestcast_codec::Error),
    /// Its frames need other tables.
    #[error("it needs the models {} and {}, but this nestcast has {} and {}", .needed[0], .needed[1], .given[0], .given[1])]
    Models {
        /// Those of frames predicted from nothing, and of residuals, that they need.
        needed: [ModelId; 2],
        /// Those that are at hand.
        given: [ModelId; 2],
    },
    /// A frame cannot be shown.
    #[error(transparent)]
    Show(#[from] nestcast_codec::TransformError),
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// More pixels than agreed.
    #[error("its frames have {given} pixels, over the limit of {max}")]
    Limit {
        /// Pixels of a frame.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// A frame longer than any of its size.
    #[error("frame {frame} has {given} bytes, more than any frame of its size can have")]
    Frame {
        /// Its number, from 0.
        frame: u64,
        /// Its length.
        given: u64,
    },
}
