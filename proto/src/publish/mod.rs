//! The sender's half of one receiver's session: decides which bytes of which frame go out next.
//!
//! The rest of the crate sees [`publisher`]. It has one [`writer`], which writes one [`stream`] after another, and one
//! [`policy`], which chooses what to write: [`pictures`] or [`video`]. [`cut`] decides where a frame ends for this
//! receiver.

mod bandwidth_estimate;
mod cap;
mod cut;
mod delivery_rate;
mod fec_controller;
mod owed;
mod pace;
mod parity;
mod pictures;
mod policy;
pub(crate) mod publisher;
mod recent;
pub(crate) mod rendition;
pub(crate) mod room;
mod sound;
pub(crate) mod stats;
pub(crate) mod step;
mod still;
mod stream;
mod token_bucket;
mod video;
mod writer;
