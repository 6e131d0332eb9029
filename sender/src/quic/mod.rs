//! QUIC by quinn: endpoint, streams and congestion control.

pub(crate) mod browser;
pub(crate) mod certificates;
mod congestion;
pub(crate) mod connection;
mod connection_ids;
pub(crate) mod endpoint;
#[cfg(feature = "qlog")]
mod qlog;
mod tasks;
