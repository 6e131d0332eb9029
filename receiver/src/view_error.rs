//! Errors that stop a viewer.

use nestcast_player::PlayError;
use nestcast_proto::Cause;

/// An error that stops a viewer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The viewer cannot continue.
    #[error(transparent)]
    View(Cause),
    /// The sender's frames cannot be shown.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The viewer does not accept the requested model package.
    #[error("the receiver refuses the sender's model package")]
    PackageRefused,
    /// The viewer returned no decoding of a broadcast, and the sender names no package that could help.
    #[error("the receiver has no model for this broadcast, and the sender names no package of one")]
    NoPackage,
    /// The thread ended; [`Player::finish`](crate::Player::finish) returns the cause.
    #[error("the viewer ended")]
    Ended,
    /// The thread panicked: in the [`Viewer`](crate::Viewer), or in the decoder.
    #[error(
        "the viewer or the decoder panicked: the panic's message names the place; if that is in nestcast, report it"
    )]
    Panicked,
}
