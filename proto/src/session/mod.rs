//! A whole session at each end, without I/O and clock: what a driver of any transport calls and does.

pub(crate) mod receiver;
pub(crate) mod sender;
