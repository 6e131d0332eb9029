//! The wire format: every byte that crosses the network, and what each end refuses (`spec/session.md`).

pub(crate) mod bases;
pub(crate) mod broadcast_name;
pub(crate) mod close;
pub(crate) mod control;
pub(crate) mod frame;
pub(crate) mod limits;
pub(crate) mod message;
pub(crate) mod parity;
pub(crate) mod sound;
pub(crate) mod start;
pub(crate) mod stream;
pub(crate) mod varint;
pub(crate) mod version;
