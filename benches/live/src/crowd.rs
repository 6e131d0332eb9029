//! Many receivers in one process, each as light as QUIC allows: they read frames and discard them.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use nestcast_proto::{ALPN, DecoderKind, Hello, MAX_STREAMS, Message};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tokio::sync::Semaphore;

use super::still_broadcast::CERTIFICATE;

/// Receivers that share a socket: its buffer takes the frames of so many at once.
const PER_SOCKET: usize = 10;
/// Handshakes at once.
const CONNECTING: usize = 16;
/// How long all may take to get their first frames.
const PATIENCE: Duration = Duration::from_secs(60);
const RECEIVE_WINDOW: u32 = 1024 * 1024;
const READ: usize = 64 * 1024;

/// What came, of all receivers.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    started: AtomicU64,
    frames: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// Connects `count` receivers; says `ready` once each has a frame, then answers each line with frames and bytes.
pub fn receive(identity: &Path, address: SocketAddr, count: usize) -> Result<()> {
    let config = client(identity)?;
    let counters: Arc<Counters> = Arc::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(start(&config, address, count, &counters))?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        line?;
        println!("{} {}", counters.frames.load(Ordering::Relaxed), counters.bytes.load(Ordering::Relaxed));
    }
    Ok(())
}

async fn start(config: &ClientConfig, address: SocketAddr, count: usize, counters: &Arc<Counters>) -> Result<()> {
    let turn = Arc::new(Semaphore::new(CONNECTING));
    for first in (0..count).step_by(PER_SOCKET) {
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into())?;
        for _ in first..count.min(first + PER_SOCKET) {
            let (endpoint, config) = (endpoint.clone(), config.clone());
            let (counters, turn) = (Arc::clone(counters), Arc::clone(&turn));
            tokio::spawn(async move {
                if let Err(error) = one(&endpoint, config, address, &counters, turn).await {
                    eprintln!("a receiver ended: {error:#}");
                }
            });
        }
    }
    let all = async {
        while counters.started.load(Ordering::Relaxed) < count as u64 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.context("not every receiver got a frame")
}

async fn one(
    endpoint: &Endpoint,
    config: ClientConfig,
    address: SocketAddr,
    counters: &Counters,
    turn: Arc<Semaphore>,
) -> Result<()> {
    let mine = turn.acquire_owned().await?;
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    drop(mine);
    take(&connection, counters).await
}

/// Says hello, then reads and discards until the connection ends.
pub(crate) async fn take(connection: &Connection, counters: &Counters) -> Result<()> {
    let _control = greet(connection).await?;
    let mut first = true;
    loop {
        let stream = connection.accept_uni().await?;
        let bytes = discard(stream).await?;
        counters.frames.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        counters.started.fetch_add(u64::from(std::mem::take(&mut first)), Ordering::Relaxed);
    }
}

/// Says hello; the control stream stays open as long as what is given is kept.
pub(crate) async fn greet(connection: &Connection) -> Result<(SendStream, RecvStream)> {
    let (mut control, welcome) = connection.open_bi().await?;
    let hello = Hello { token: bytes::Bytes::new(), max_bitrate: None, decoder: DecoderKind::Linear };
    control.write_chunk(Message::Hello(hello).encode()).await?;
    Ok((control, welcome))
}

async fn discard(mut stream: RecvStream) -> Result<u64> {
    let mut bytes = 0;
    while let Some(chunk) = stream.read_chunk(READ, false).await? {
        bytes += chunk.bytes.len() as u64;
    }
    Ok(bytes)
}

/// Trusts the certificate of an identity's folder.
pub(crate) fn client(identity: &Path) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(identity.join(CERTIFICATE))?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut crypto = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .datagram_receive_buffer_size(None);
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto)?));
    config.transport_config(Arc::new(transport));
    Ok(config)
}
