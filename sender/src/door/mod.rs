//! Admission: peers wait for their handshake, have a while to say hello, and take a place. Bounds what strangers can
//! cost.

mod address_prefix;
pub(crate) mod admission;
pub(crate) mod half_open;
pub(crate) mod slots;
mod waiting;
