//! Why pictures are shown no longer.

use std::error::Error as StdError;

use nestcast_player::PlayError;

/// Why pictures are shown no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The viewer cannot go on.
    #[error(transparent)]
    View(Box<dyn StdError + Send + Sync>),
    /// What the sender sends cannot be shown.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The viewer does not take the model package that was asked for.
    #[error("the receiver refuses the sender's model package")]
    PackageRefused,
    /// The thread ended; [`Player::finish`](crate::Player::finish) tells why.
    #[error("the viewer ended")]
    Ended,
    /// The thread broke off.
    #[error("the decoder stopped unexpectedly: please report this")]
    Panicked,
}
