//! Sources of frames, and the fan-out to all consumers.

pub(crate) mod fanout;
pub(crate) mod live_source;
mod newest;
pub(crate) mod source;
