//! Receives a live broadcast: whatever prefix of each frame came in time, decoded.
//!
//! ```text
//! QUIC streams -> Subscriber -> newest prefix -> decoder (thread) -> Viewer
//! ```
//!
//! The network never waits for the decoder: one that is late finds the newest prefix and skips what came before.
//!
//! A sender is not trusted: what it makes a receiver hold is bounded by the size of picture that it announced, and so is
//! every time that it makes a receiver wait.

mod error;
mod model;
mod player;
mod quic;
mod receive;
mod retry;
mod screen;
mod session;
mod streams;
mod transport;
mod trust;
mod view;

pub use error::Error;
pub use receive::{Config, receive};
pub use trust::Trust;
pub use view::{Announcement, Decoding, Shown, Totals, Viewer};
/// The QUIC that a receiver uses, so that other things can be measured over the same.
#[doc(hidden)]
pub mod measured {
    pub use crate::quic::config as client_config;
}
