//! Live broadcasts through relays of Media over QUIC (spec: relay.md).
//!
//! ```text
//! Broadcast::frames, sound -> publish -> relay -> relay -> receive -> FrameSink
//! ```
//!
//! [`publish`] writes a broadcast's frames and sound at a relay, next to the broadcast's own receivers: one encode
//! serves both. [`receive`] reads them and feeds any sink of `nestcast-receiver`, so a player shows a relayed broadcast
//! as it shows a direct one. A relay copies groups and knows nothing of frames. The subscriber cuts each frame itself:
//! it stops a frame's enhancement group when the next frame is there.
//!
//! [`mapping`] says which bytes of a frame go into which track; [`catalog`] is the broadcast's announcement. Both are
//! pure, as is `nestcast-relayed`, which puts frames together again and says where to cut them.

pub mod catalog;
mod current_url;
mod error;
pub mod mapping;
mod publisher;
mod relay;
mod stoppable;
mod subscriber;
mod tracks;
mod url;

pub use error::Error;
pub use nestcast_relayed::{Fault, Track};
pub use publisher::{Rates, RatesError, Relayed, publish};
pub use relay::MOQ_LITE_VERSIONS;
pub use subscriber::{Config, receive, view};
pub use url::{RelayUrl, RelayUrlError, SecondTokenError};
