//! The part of HTTP/3 (RFC 9114) that a browser needs to begin a WebTransport session. It does no I/O: bytes in, bytes
//! out.

pub(crate) mod capsule;
pub(crate) mod error;
pub(crate) mod peer;
mod records;
pub(crate) mod request;
pub(crate) mod settings;
