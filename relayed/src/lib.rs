//! Live broadcasts through relays of Media over QUIC (spec: relay.md), without I/O and clock.
//!
//! ```text
//! relay's streams -> Client -> Event -> Follower (Assembly) -> ReceiverSession
//! ```
//!
//! A relay copies groups and knows nothing of frames. A [`Follower`] says which tracks to read, puts frames together
//! again, and says where to cut them: it stops a frame's enhancement group when the next frame is there. The subscriber
//! of `nestcast-moq` drives it with what `moq-net` reads. A browser drives it with a [`Client`], the little of moq-lite
//! that a subscriber needs, over WebTransport.

mod assembly;
mod by_number;
pub mod catalog;
pub mod client;
mod event;
mod follower;
mod track;
pub mod wire;

pub use catalog::Fault;
pub use client::Client;
pub use event::{Event, Piece};
pub use follower::{Follower, Wanted};
pub use track::Track;
pub use wire::Version;
