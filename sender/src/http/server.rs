//! Answers HTTP requests over TCP, with TLS if there is a certificate.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
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
    /// The longest time for a handshake of TLS, and for a request and its answer.
    pub(crate) patience: Duration,
}

/// How long a connection waits for its next request.
const IDLE_TIME: Duration = Duration::from_secs(5);

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
                    Some(tls) => converse(within(limits.patience, tls.accept(stream)).await?, limits, &*path).await,
                    None => converse(stream, limits, &*path).await,
                }
            };
            if let Err(error) = served.await {
                tracing::debug!("a request over HTTP failed: {error}");
            }
        });
        connections.push_back(connection.abort_handle());
    }
}

async fn within<T>(time: Duration, served: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(time, served).await?
}

/// Answers requests until the client or an answer ends the connection, or the next request does not come.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    limits: Limits,
    path: impl Fn(&str) -> Answer,
) -> io::Result<()> {
    let mut read = BytesMut::with_capacity(1024);
    while within(limits.patience, exchange(&mut stream, &mut read, &path)).await? {
        if read.is_empty() && within(IDLE_TIME, stream.read_buf(&mut read)).await? == 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Answers one request, whose first bytes may be read already. Returns whether the connection stays.
async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    read: &mut BytesMut,
    path: impl Fn(&str) -> Answer,
) -> io::Result<bool> {
    let reply = loop {
        if let Some(reply) = answer(read, &path) {
            break reply;
        }
        debug_assert!(read.len() < MAX_REQUEST_BYTES, "a longer one was answered");
        if stream.read_buf(read).await? == 0 {
            return Ok(false);
        }
    };
    for part in reply.parts.iter().filter(|part: &&Bytes| !part.is_empty()) {
        stream.write_all(part).await?;
    }
    if reply.stays {
        read.advance(reply.taken);
        stream.flush().await?;
        return Ok(true);
    }
    stream.shutdown().await?;
    // If the client is still sending, a reset would cut off the answer.
    while stream.read_buf(read).await? > 0 {
        read.clear();
    }
    Ok(false)
}
