//! A sender's side of one receiver: which bytes of which frame go out next.
//!
//! [`publisher`] is what the rest of the crate sees. It has one [`writer`], which writes one [`stream`] after the other, and one
//! [`policy`], which says what to write: [`pictures`] or [`video`]. Where a frame ends for this receiver is decided in [`cut`].

mod cap;
mod carried_rate;
mod cut;
mod delivery_rate;
mod lossy;
mod owed;
mod pace;
mod parity;
mod pictures;
mod policy;
pub(crate) mod publisher;
mod recent;
pub(crate) mod rendition;
pub(crate) mod room;
pub(crate) mod stats;
pub(crate) mod step;
mod still;
mod stream;
mod token_bucket;
mod video;
mod writer;
