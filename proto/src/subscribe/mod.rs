//! A receiver's half of the session: turns streams into frames to show.

pub(crate) mod late;
pub(crate) mod repair;
pub(crate) mod subscriber;
