//! Sends a live broadcast: every frame is made once and cut to each receiver's bandwidth, over QUIC.
//!
//! ```text
//! FrameSource -> newest frames -> one feed per receiver
//! ```
//!
//! A source never waits for a receiver: a feed that is late skips what came before. All feeds share a frame's memory.
//! [`EncodedPictures`] is the source that encodes pictures; the rest of the crate moves frames and has never seen one.

mod address_prefix;
mod admission;
mod broadcast;
mod connection_ids;
mod error;
mod feed;
mod feedback;
mod frames;
mod identity;
mod pictures;
mod places;
#[cfg(feature = "qlog")]
mod qlog;
mod quic;
mod source;
mod statistics;
mod transport;
mod unadmitted;
mod waiting;

pub use broadcast::{Acknowledge, Broadcast, Config, Monitor};
pub use error::Error;
pub use feedback::Feedback;
pub use identity::{Fingerprint, Identity};
pub use pictures::{EncodedPictures, Encoding, PictureError, Pictures};
pub use quic::Socket;
pub use source::{FrameSource, SourceError};
pub use statistics::{ReceiverStatistics, Statistics};
