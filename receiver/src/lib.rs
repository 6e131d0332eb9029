//! Receives a live broadcast, and hands over the prefix of each frame that arrived in time.
//!
//! ```text
//! QUIC streams -> Subscriber -> FrameSink
//! ```
//!
//! [`Player`] is the sink that shows video and pictures to a [`Viewer`]: a thread around the player of
//! `nestcast-player`. The rest of the crate moves frames and does not look into them. Any other sink is a few lines:
//!
//! ```
//! use std::convert::Infallible;
//! use nestcast_proto::{ReceivedFrame, ReceiveStats};
//! use nestcast_receiver::FrameSink;
//!
//! /// Counts the bytes that arrived in time.
//! #[derive(Default)]
//! struct Bytecount(usize);
//!
//! impl FrameSink for Bytecount {
//!     type Error = Infallible;
//!
//!     fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
//!         self.0 += frame.prefix.len();
//!         Ok(())
//!     }
//! }
//! ```
//!
//! [`receive`] feeds it.
//!
//! The receiver does not trust the sender: the announced picture size bounds the memory that a sender can make it hold,
//! and every wait for the sender has a limit.

mod address;
mod config;
mod control_writer;
mod error;
mod mailbox;
mod playback;
mod player;
mod quic;
mod race;
mod receive;
#[cfg(feature = "serde")]
mod report;
mod retry;
mod search;
mod seek;
mod sender_clock;
mod session;
mod sink;
mod start;
mod streams;
mod token_file;
mod transport;
mod trust;
mod view_error;
mod viewer;

pub use address::{Address, AddressError};
pub use config::ReceiverConfig;
pub use error::{AuthoritiesFault, CertificateFault, ConnectionFault, Error};
/// Types of the player that a [`Viewer`] uses.
pub use nestcast_player::{
    AnnouncedVideo, Announcement, Beginning, Decoding, Latency, LatencyError, LatencyHistogram, Picture, PlayError,
    PlayStats, Recording, SoundBlock, SoundContent, SoundMode, SoundPlace, SoundStats, Unevenness,
};
pub use nestcast_proto::Cause;
pub use player::{Player, view};
pub use quic::ReceiverSocket;
pub use receive::{receive, receive_over};
pub use retry::Retry;
pub use seek::{Goal, GoalError, Seek};
pub use sink::{FrameSink, Readiness};
pub use token_file::CurrentToken;
pub use trust::Trust;
pub use view_error::ViewError;
pub use viewer::{Concealed, Shown, Totals, Viewer};
