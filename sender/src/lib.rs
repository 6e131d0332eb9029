//! Sends a live broadcast: every frame is encoded once and cut to each receiver's bandwidth, over QUIC.
//!
//! ```text
//! Source (thread, at its frame rate) -> newest picture -> encoder (thread) -> newest frame -> one feed per receiver
//! ```
//!
//! Neither arrow blocks: who is late finds the newest picture or frame and skips what came before. All feeds share a
//! frame's memory.

mod address_prefix;
mod admission;
mod broadcast;
mod connection_ids;
mod demand;
mod encoding;
mod error;
mod feed;
mod frames;
mod identity;
mod pipeline;
mod places;
mod quic;
mod serve;
mod source;
mod statistics;
mod transport;
mod unadmitted;
mod waiting;

pub use broadcast::{Broadcast, Config, Monitor};
pub use encoding::{Encoding, Package};
pub use error::Error;
pub use identity::{Fingerprint, Identity};
pub use source::{Pictures, Source};
/// The QUIC that a broadcast runs over, so that other things can be measured over the same.
#[doc(hidden)]
pub mod measured {
    pub use crate::quic::{config as server_config, path, write};
    pub use crate::serve::serve;
}
pub use statistics::{ReceiverStatistics, Statistics};
