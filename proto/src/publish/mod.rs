//! A sender's side of one receiver: which bytes of which frame go out next.

mod cap;
mod delivery_rate;
mod lossy;
pub(crate) mod publisher;
mod recent;
pub(crate) mod rendition;
mod still;
mod token_bucket;
mod waiting;
