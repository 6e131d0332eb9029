//! The sessions of a live broadcast as state machines: no I/O, no clock, no codec.
//!
//! A sender has one [`Publisher`] for each receiver, a receiver one [`Subscriber`]. Both move opaque bytes: a frame
//! is a stream of bytes of which any prefix is worth something, and the first `base` bytes are worth the most.
//! `spec/session.md` defines every byte that crosses the network.
//!
//! Moments are [`Duration`](std::time::Duration)s since a moment of the caller's choice, one for each machine.
//!
//! A sender's loop, for one receiver:
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use nestcast_proto::{Bitrate, Frame, PathStats, Publisher, Step};
//!
//! let interval = Duration::from_millis(33);
//! let mut publisher = Publisher::new(interval, Some(Bitrate::from_bits(1_000_000)));
//!
//! // A frame is due: say what the transport knows of the path, then do as the machine says.
//! let frame = Frame { id: 7, skipped: 0, captured: 0, since: 7, base: 20, bytes: Bytes::from(vec![1; 9000]), join: None };
//! publisher.handle_frame(Duration::ZERO, &frame, &PathStats::default());
//! let mut sent = Vec::new();
//! while let Some(step) = publisher.poll() {
//!     match step {
//!         Step::Open { .. } => publisher.handle_opened(0), // open a stream: its bytes go after those of all before
//!         Step::Write => {   // write as much as the transport takes, and say how much that was
//!             let chunks = publisher.unwritten();
//!             let taken = chunks[0].len() + chunks[1].len();
//!             sent.extend(chunks.iter().flatten().copied());
//!             publisher.handle_written(Duration::ZERO, taken, &PathStats::default());
//!         }
//!         Step::Finish => {} // finish the stream: what was written is the frame
//!         Step::Again { .. } => {} // reset the frames' streams and open one for their bases, which go first
//!     }
//! }
//! assert!(sent.len() > 20 && sent.len() < 9000, "as much as the receiver asked for");
//! ```

mod bitrate;
mod demand;
mod path;
mod publish;
mod session;
mod source;
mod subscribe;
mod wire;

pub use bitrate::{Bitrate, BitrateError};
pub use demand::{Demand, DemandEntry, ReceiverDemand};
pub use path::delay_controller::DelayController;
pub use path::limits::{INITIAL_WINDOW, QUEUE_TARGET};
pub use path::stats::PathStats;
pub use publish::publisher::Publisher;
pub use publish::rendition::{BroadcastFrame, Followed, Rendition, RenditionFollower};
pub use publish::room::Room;
pub use publish::stats::{CutCounts, SendStats};
pub use publish::step::Step;
pub use session::receiver::{ReceiverEnd, ReceiverOutput, ReceiverSession};
pub use session::sender::{Offer, SenderEnd, SenderOutput, SenderSession, Urgency};
pub use source::{Captured, FrameEncoder, PictureStream, SourceError, StreamPicture};
pub use subscribe::late::More;
pub use subscribe::repair::Repair;
pub use subscribe::subscriber::{Arrived, ReceiveStats, Subscriber};
use subtle::ConstantTimeEq as _;
pub use wire::bases::Bases;
pub use wire::close::{Close, Code};
pub use wire::control::Control;
pub use wire::frame::{Frame, FrameHeader, Join};
pub use wire::limits::{
    ALPN, MAX_FRAME, MAX_HEAD_BYTES, MAX_MESSAGE, MAX_MODEL, MAX_OPEN_FRAMES, MAX_STREAMS, MAX_TOKEN,
};
pub use wire::message::{Clock, DecoderKind, Hello, JoinRequest, Message, ModelRequest, PackageHash, Video, Welcome};
pub use wire::parity::ParityHeader;
pub use wire::stream::{LateHeader, ModelHeader, StreamHead};
pub use wire::version::VersionRange;

/// Compares a receiver's token with the sender's in a time that does not tell where they differ.
#[must_use]
pub fn same_token(given: &[u8], wanted: &[u8]) -> bool {
    given.ct_eq(wanted).into()
}
