//! Receives a live broadcast: whatever prefix of each frame came in time, decoded.
//!
//! ```text
//! QUIC streams -> Subscriber -> newest prefix -> decoder (thread) -> Viewer
//! ```
//!
//! The network never waits for the decoder: one that is late finds the newest prefix and skips what came before.

mod error;
mod play;
mod quic;
mod receive;
mod session;
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
