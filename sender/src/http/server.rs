//! Answers HTTP requests over TCP, with TLS if there is a certificate.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use crate::http::answer::{Answer, MAX_REQUEST_BYTES, answer};

/// Limits on what clients may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most connections at once. The oldest one closes to admit another, so idle clients lock nobody out.
    pub(crate) connections: usize,
    /// The longest time for a request and its answer.
    pub(crate) patience: Duration,
}

/// Answers requests forever, over TLS if it is configured. `path` returns the answer to GET for a path.
pub(crate) async fn serve(
    listener: &TcpListener,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    path: impl Fn(&str) -> Answer + Send + Sync + 'static,
) {
    let path = Arc::new(path);
    let tls = tls.map(TlsAcceptor::from);
    let mut connections = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The system has no file descriptors left, for example.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        connections.retain(|connection: &AbortHandle| !connection.is_finished());
        if connections.len() == limits.connections {
            connections.pop_front().inspect(AbortHandle::abort);
        }
        let (path, tls) = (Arc::clone(&path), tls.clone());
        let connection = tokio::spawn(async move {
            let served = async {
                match tls {
                    Some(tls) => converse(tls.accept(stream).await?, &*path).await,
                    None => converse(stream, &*path).await,
                }
            };
            if let Ok(Err(error)) = tokio::time::timeout(limits.patience, served).await {
                tracing::debug!("a request over HTTP failed: {error}");
            }
        });
        connections.push_back(connection.abort_handle());
    }
}

/// Answers one request.
async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: impl Fn(&str) -> Answer) -> io::Result<()> {
    let mut request = BytesMut::with_capacity(1024);
    let parts = loop {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
        if let Some(parts) = answer(&request, &path) {
            break parts;
        }
        debug_assert!(request.len() < MAX_REQUEST_BYTES, "a longer one was answered");
    };
    for part in parts.iter().filter(|part: &&Bytes| !part.is_empty()) {
        stream.write_all(part).await?;
    }
    stream.shutdown().await?;
    // If the client is still sending, a reset would cut off the answer.
    while stream.read_buf(&mut request).await? > 0 {
        request.clear();
    }
    Ok(())
}
