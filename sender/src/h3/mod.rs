//! HTTP/3 (RFC 9114) as far as a browser needs it to begin a WebTransport session: bytes in, bytes out, no I/O.

pub(crate) mod capsule;
pub(crate) mod error;
pub(crate) mod peer;
mod records;
pub(crate) mod request;
pub(crate) mod settings;
