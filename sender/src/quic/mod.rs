//! QUIC by quinn: endpoint, streams and congestion control.

mod congestion;
mod connection_ids;
pub(crate) mod endpoint;
#[cfg(feature = "qlog")]
mod qlog;
