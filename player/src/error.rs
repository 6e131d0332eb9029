//! Why a broadcast can be played no longer.

use crate::corrupt::{Cause, MAX_CORRUPT_FRAMES};

/// Why a broadcast can be played no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The sender announces a size that no picture has.
    #[error("the sender's pictures cannot be shown: {0}")]
    Size(#[source] Cause),
    /// The sender's frames are no pictures.
    #[error("none of the sender's last {MAX_CORRUPT_FRAMES} frames can be decoded: {0}")]
    Undecodable(#[source] Cause),
}
