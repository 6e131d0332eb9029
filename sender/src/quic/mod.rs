//! QUIC by quinn: the endpoint and its streams, and the congestion control.

mod congestion;
mod connection_ids;
pub(crate) mod endpoint;
#[cfg(feature = "qlog")]
mod qlog;
