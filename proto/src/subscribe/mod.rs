//! A receiver's side of one sender: streams to the frames that are shown.

pub(crate) mod late;
pub(crate) mod repair;
pub(crate) mod subscriber;
