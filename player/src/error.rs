//! Errors that end the playback of a broadcast.

use crate::corrupt::{FrameFault, MAX_CORRUPT_FRAMES};

/// An error that ends the playback of a broadcast.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// No picture has the announced size.
    #[error("the sender's pictures cannot be shown: {0}")]
    Size(#[source] nestcast_codec::Error),
    /// The sender's frames are no pictures.
    #[error("none of the sender's last {MAX_CORRUPT_FRAMES} frames can be decoded: {0}")]
    Undecodable(#[source] FrameFault),
}
