//! Sends a live broadcast: every frame is made once and cut to each receiver's bandwidth, over QUIC.
//!
//! ```text
//! FrameSource -> newest frames -> one feed per receiver
//! ```
//!
//! A source never waits for a receiver: a feed that is late skips what came before. All feeds share a frame's memory.
//! [`Capture`] is the source that encodes, as video or each picture by itself; the rest of the crate moves frames and has
//! never seen a picture.
//! Any other source is a few lines:
//!
//! ```
//! use bytes::Bytes;
//! use nestcast_proto::{Frame, PackageHash, Welcome};
//! use nestcast_sender::{Broadcast, Config, Feedback, FrameSource, Identity, SourceError};
//!
//! /// Three frames a tenth of a second apart.
//! struct Countdown(u64);
//!
//! impl FrameSource for Countdown {
//!     fn welcome(&self) -> Welcome {
//!         Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 1, height: 1, rate: (10, 1), video: None }
//!     }
//!
//!     async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
//!         tokio::time::sleep(self.welcome().interval()).await;
//!         let useful = usize::try_from(feedback.take_useful_bytes()).unwrap_or(usize::MAX);
//!         let bytes = Bytes::from(vec![7; useful.min(1000)]);
//!         let id = self.0;
//!         self.0 += 1;
//!         // Of each frame everyone gets the first hundred bytes first.
//!         Ok((id < 3).then_some(Frame { id, skipped: 0, captured: 0, since: id, base: 100, bytes, join: None, loops: None }))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let config = Config::new(([127, 0, 0, 1], 0).into(), Identity::generate()?);
//! let broadcast = Broadcast::listen(config, Countdown(0))?;
//! let monitor = broadcast.monitor();
//! broadcast.run(std::future::pending()).await?;
//! assert_eq!(monitor.read().frames, 3);
//! # Ok(())
//! # })
//! # }
//! ```

mod address_prefix;
mod admission;
mod broadcast;
mod capture;
mod clock;
mod congestion;
mod connection_ids;
mod error;
mod feed;
mod feedback;
mod frames;
mod groups;
mod identity;
mod join_budget;
#[cfg(feature = "metrics")]
mod metrics_server;
mod newest;
#[cfg(feature = "metrics")]
mod open_metrics;
mod pace;
mod pictures;
mod places;
#[cfg(feature = "qlog")]
mod qlog;
mod quic;
#[cfg(feature = "serde")]
mod report;
mod slides;
mod source;
mod statistics;
mod transport;
mod unadmitted;
mod video;
mod waiting;

pub use broadcast::{Acknowledge, Broadcast, Config, Monitor, place_of};
pub use capture::{Capture, PictureError, Pictures};
pub use error::Error;
pub use feedback::Feedback;
pub use groups::Loops;
pub use identity::{Fingerprint, Identity};
#[cfg(feature = "metrics")]
pub use metrics_server::serve_metrics;
#[cfg(feature = "metrics")]
pub use open_metrics::OpenMetrics;
pub use pace::{Behind, Pace};
pub use pictures::Encoding;
pub use quic::Socket;
pub use source::{FrameSource, SourceError};
pub use statistics::{ReceiverStatistics, Statistics};
pub use video::VideoEncoding;
