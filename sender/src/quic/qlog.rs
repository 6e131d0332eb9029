//! A qlog file of each connection.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use quinn::{Incoming, QlogConfig, ServerConfig, TransportConfig};

use crate::config::Acknowledge;
use crate::quic::congestion::SharedClock;

/// The folder of qlog files, and the configuration of a logged connection.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) config: ServerConfig,
    /// Builds the connection's transport configuration.
    pub(crate) transport: fn(SharedClock, Acknowledge) -> TransportConfig,
    pub(crate) acknowledge: Acknowledge,
    pub(crate) clock: SharedClock,
}

impl Logs {
    /// Returns the configuration of a logged connection; `None` without a folder or if the file cannot be created.
    pub(crate) fn config_of(&self, incoming: &Incoming) -> Option<Arc<ServerConfig>> {
        let file = self.folder.as_deref()?.join(format!("{}.sqlog", incoming.orig_dst_cid()));
        let created =
            File::create(&file).inspect_err(|error| tracing::warn!("{} is not written: {error}", file.display()));
        let mut log = QlogConfig::default();
        log.writer(Box::new(BufWriter::new(created.ok()?)))
            .title(Some(format!("nestcast send to {}", incoming.remote_address())));
        let mut transport = (self.transport)(self.clock, self.acknowledge);
        transport.qlog_stream(log.into_stream());
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        Some(Arc::new(config))
    }
}
