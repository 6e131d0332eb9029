//! Where frames come from, and how they get from there to everyone who takes them.

pub(crate) mod fanout;
pub(crate) mod live_source;
mod newest;
pub(crate) mod source;
