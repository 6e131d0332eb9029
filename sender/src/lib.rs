//! Sends a live broadcast over QUIC: encodes every frame once and cuts it to each receiver's bandwidth.
//!
//! ```text
//! FrameSource -> FrameFanout -> one feed per receiver, and other subscribers
//!      ^------------------ Demand: what all of them want
//! ```
//!
//! A source never waits for a receiver: a feed that is late skips older frames. All feeds share a frame's memory.
//! [`LiveSource`] reads a stream of pictures and encodes each, on two threads; `nestcast-encode` has streams and
//! encoders for it. [`PacedSource`] sends frames that were encoded earlier, such as those of a stored video. This crate moves frames and does not look into them. Any other source is a few lines:
//!
//! ```
//! use bytes::Bytes;
//! use nestcast_proto::{BroadcastFrame, Demand, Frame, FrameRate, PackageHash, SourceError, Welcome};
//! use nestcast_sender::{Broadcast, SenderConfig, FrameSource, Identity};
//!
//! /// Three frames a tenth of a second apart.
//! struct Countdown(u64);
//!
//! impl FrameSource for Countdown {
//!     fn welcome(&self) -> Welcome {
//!         let rate = FrameRate::new(10, 1).expect("a rate");
//!         Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 1, height: 1, rate, video: None }
//!     }
//!
//!     async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
//!         tokio::time::sleep(self.welcome().interval()).await;
//!         let useful = usize::try_from(demand.take_useful_bytes()).unwrap_or(usize::MAX);
//!         let bytes = Bytes::from(vec![7; useful.min(1000)]);
//!         let id = self.0;
//!         self.0 += 1;
//!         // Everyone gets the first hundred bytes of each frame first.
//!         let frame = Frame { id, skipped: 0, captured: 0, since: id, base: 100, bytes, join: None };
//!         Ok((id < 3).then_some(frame.into()))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let config = SenderConfig::new(([127, 0, 0, 1], 0).into(), Identity::generate()?);
//! let broadcast = Broadcast::listen(config, Countdown(0))?;
//! let monitor = broadcast.monitor();
//! broadcast.run(std::future::pending()).await?;
//! assert_eq!(monitor.read().frames, 3);
//! # Ok(())
//! # })
//! # }
//! ```

mod access;
mod broadcast;
mod browser_page;
mod clock;
mod config;
mod directory;
mod door;
mod error;
mod feed;
mod figures;
mod frames;
mod h3;
mod http;
mod identity;
mod page;
mod quic;
mod rewound;
mod rotation;
mod shared;
mod transport;

#[cfg(feature = "access")]
pub use access::callback::{BearerError, HttpCallback, UrlError};
pub use access::shared_token::SharedToken;
#[cfg(feature = "access")]
pub use access::signed::{Audience, Claims, KeyError, SignedTokens, SigningKey};
pub use access::{AccessRequest, Authorization, Authorizer, Denial, Grant};
pub use broadcast::{Broadcast, place_of};
pub use browser_page::BrowserPage;
pub use clock::microseconds as clock_micros;
pub use config::{Acknowledge, Browsers, SenderConfig};
pub use error::{Error, PemFault};
#[cfg(feature = "metrics")]
pub use figures::metrics_server::serve_metrics;
pub use figures::monitor::Monitor;
#[cfg(feature = "metrics")]
pub use figures::open_metrics::OpenMetrics;
pub use figures::progress_line::ProgressLine;
pub use figures::statistics::{ReceiverStatistics, Statistics};
pub use frames::any_source::AnySource;
pub use frames::fanout::{FrameFanout, FrameReceiver, NextFrame};
pub use frames::live_source::LiveSource;
pub use frames::paced_source::PacedSource;
pub use frames::recorded_frames::RecordedFrames;
pub use frames::sound::{SoundFanout, SoundReceiver};
pub use frames::source::FrameSource;
pub use identity::{Fingerprint, Identity};
pub use page::{CERTIFICATE_FILE, PAGE_SECURITY_FIELDS, PageFile, PageServer};
pub use quic::endpoint::SenderSocket;
pub use rotation::BrowserCertificate;
pub use shared::Station;
