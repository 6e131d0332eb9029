//! QUIC by quinn: endpoint, limits and streams.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use nestcast_proto::{ALPN, Close, Code, INITIAL_WINDOW, PathStats, Room, Urgency};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    AckFrequencyConfig, AsyncUdpSocket, EndpointConfig, RecvStream, Runtime as _, SendStream, ServerConfig,
    TokioRuntime, TransportConfig, VarInt,
};
use rustls::{CipherSuite, InconsistentKeys};
use socket2::SockRef;

use crate::config::Acknowledge;
use crate::error::Error;
use crate::identity::Identity;
use crate::quic::congestion::{Factory, Known, SharedClock, known};
use crate::quic::connection_ids::ConnectionIds;
#[cfg(feature = "qlog")]
use crate::quic::qlog::Logs;
use crate::transport::{Connection, Disconnected, Incoming, Outgoing};

/// A receiver that is silent for this long is gone. A shorter timeout of its own applies instead (RFC 9000, section
/// 10.1); nestcast's receiver has one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);
/// What a receiver may send ahead: room for a hello and a request.
const RECEIVE_WINDOW_BYTES: u32 = 16 * 1024;
/// The most bytes of one read of a control stream.
const MAX_READ_BYTES: usize = 2048;
/// The socket's receive buffer: room for the first packets of a thousand receivers that connect at once.
const SOCKET_BUFFER_BYTES: usize = 2 * 1024 * 1024;
/// The most first packets that may wait; quinn drops others unread.
const MAX_FIRST_PACKETS: usize = 2048;
/// QUIC version 1 only: quinn would offer drafts too.
const QUIC_VERSIONS: [u32; 1] = [1];
/// quinn holds a piece until all of it is acknowledged. With pieces of half a packet, each acknowledgement makes room,
/// without bursts.
const PIECE_BYTES: usize = 600;
const MAX_PIECES: usize = 16;
/// The round-trip time before the first measurement.
const INITIAL_RTT: Duration = Duration::from_millis(100);

/// The socket of a broadcast.
#[derive(Debug)]
pub struct Socket {
    socket: Arc<dyn AsyncUdpSocket>,
    address: SocketAddr,
    seed: Option<[u8; 32]>,
}

impl Socket {
    /// Wraps any packet transport, such as a simulated network. QUIC draws all random values from `seed`, except keys
    /// and connection IDs.
    ///
    /// # Errors
    /// If the socket does not know its address.
    pub fn simulated(socket: Arc<dyn AsyncUdpSocket>, seed: [u8; 32]) -> std::io::Result<Self> {
        let address = socket.local_addr()?;
        Ok(Self { socket, address, seed: Some(seed) })
    }

    /// Binds a UDP socket of the system.
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Error> {
        let bound = socket(address).and_then(|socket| TokioRuntime.wrap_udp_socket(socket));
        let socket = bound.map_err(|reason| Error::Listen { address, reason })?;
        Ok(Self { socket, address, seed: None })
    }
}

/// Accepts receivers.
#[derive(Debug)]
pub(crate) struct Listener {
    endpoint: quinn::Endpoint,
    #[cfg(feature = "qlog")]
    logs: Logs,
}

impl Listener {
    /// Listens on a socket.
    pub(crate) fn new(
        Socket { socket, address, seed }: Socket,
        identity: Identity,
        acknowledge: Acknowledge,
    ) -> Result<Self, Error> {
        let clock = if seed.is_some() { SharedClock::simulated() } else { SharedClock::utc() };
        let mut config = config(identity)?;
        config.transport_config(Arc::new(transport(clock, acknowledge)));
        #[cfg(feature = "qlog")]
        let logs = Logs { folder: None, config: config.clone(), transport, acknowledge, clock };
        let mut own = EndpointConfig::default();
        own.supported_versions(QUIC_VERSIONS.to_vec()).cid_generator(|| Box::<ConnectionIds>::default()).rng_seed(seed);
        let endpoint = quinn::Endpoint::new_with_abstract_socket(own, Some(config), socket, Arc::new(TokioRuntime))
            .map_err(|reason| Error::Listen { address, reason })?;
        Ok(Self {
            endpoint,
            #[cfg(feature = "qlog")]
            logs,
        })
    }

    /// Writes a qlog file of each connection to this folder.
    #[cfg(feature = "qlog")]
    pub(crate) fn with_qlog(self, folder: Option<std::path::PathBuf>) -> Self {
        Self { logs: Logs { folder, ..self.logs }, ..self }
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.endpoint.local_addr().ok()
    }

    /// Returns the next peer that asks for a connection; `None` once the endpoint is closed. May be dropped while it
    /// waits.
    pub(crate) async fn accept(&self) -> Option<Handshake> {
        let incoming = self.endpoint.accept().await?;
        Some(Handshake {
            incoming,
            #[cfg(feature = "qlog")]
            logs: self.logs.clone(),
        })
    }

    /// Closes the open connections and waits until peers have been told.
    pub(crate) async fn close(&self, close: Close) {
        self.endpoint.close(VarInt::from_u32(close.code.number()), close.why.as_bytes());
        let _ = tokio::time::timeout(Duration::from_secs(2), self.endpoint.wait_idle()).await;
    }
}

/// A handshake that has not begun. Dropping it refuses the peer with an answer.
#[derive(Debug)]
pub(crate) struct Handshake {
    incoming: quinn::Incoming,
    #[cfg(feature = "qlog")]
    logs: Logs,
}

impl Handshake {
    pub(crate) fn address(&self) -> SocketAddr {
        self.incoming.remote_address()
    }

    /// Returns whether the peer has answered from its address.
    pub(crate) fn address_validated(&self) -> bool {
        self.incoming.remote_address_validated()
    }

    /// Asks the peer to try again with a token, which shows that it answers from its address.
    pub(crate) fn retry(self) {
        // It fails only for an address that is already validated.
        let _ = self.incoming.retry();
    }

    /// Sends no answer: the peer will try again.
    pub(crate) fn ignore(self) {
        self.incoming.ignore();
    }

    /// Performs the handshake.
    pub(crate) async fn perform(self) -> Result<QuicConnection, Disconnected> {
        #[cfg(feature = "qlog")]
        let connecting = match self.logs.config_of(&self.incoming) {
            Some(config) => self.incoming.accept_with(config),
            None => self.incoming.accept(),
        };
        #[cfg(not(feature = "qlog"))]
        let connecting = self.incoming.accept();
        let connection = connecting.map_err(disconnected)?.await.map_err(disconnected)?;
        let known = Mutex::new((connection.remote_address(), known(&connection)));
        Ok(QuicConnection(Arc::new(Path { connection, known })))
    }
}

fn socket(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    // A system with a lower limit uses that.
    if let Err(error) = SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER_BYTES) {
        tracing::debug!("the socket's buffer stays as it is: {error}");
    }
    Ok(socket)
}

fn config(identity: Identity) -> Result<ServerConfig, Error> {
    let tls = |error: &dyn std::fmt::Display| Error::Tls(error.to_string());
    let mut provider = rustls::crypto::ring::default_provider();
    // Every packet is encrypted for one receiver. AES-128-GCM, which everyone has (RFC 8446, section 9.1), takes 10
    // rounds, not 14.
    provider.cipher_suites.retain(|suite| suite.suite() != CipherSuite::TLS13_AES_256_GCM_SHA384);
    let mut crypto = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| tls(&error))?
        .with_no_client_auth()
        .with_single_cert(identity.chain, identity.key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Error::KeyMismatch,
            error => tls(&error),
        })?;
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    // Without tickets there is no resumption, so there are no 0-RTT data to replay.
    crypto.send_tls13_tickets = 0;
    crypto.max_early_data_size = 0;
    let crypto = QuicServerConfig::try_from(crypto).map_err(|error| tls(&error))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.max_incoming(MAX_FIRST_PACKETS).incoming_buffer_size(8 * 1024).incoming_buffer_size_total(1024 * 1024);
    Ok(config)
}

/// Configures connections that share a clock.
fn transport(clock: SharedClock, acknowledge: Acknowledge) -> TransportConfig {
    let mut acks = AckFrequencyConfig::default();
    // The threshold is the number of packets that may arrive without an acknowledgement.
    let threshold = acknowledge.packets.saturating_sub(1);
    acks.ack_eliciting_threshold(VarInt::from_u32(threshold)).max_ack_delay(Some(acknowledge.within));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .send_window(INITIAL_WINDOW)
        .send_fairness(false)
        .datagram_receive_buffer_size(None)
        .mtu_discovery_config(None)
        .initial_rtt(INITIAL_RTT)
        .ack_frequency_config(Some(acks))
        .max_idle_timeout(IDLE_TIMEOUT.try_into().ok())
        .congestion_controller_factory(Arc::new(Factory(clock)));
    transport
}

/// Returns the front of `chunks` in pieces, at most `most` bytes, and the number of pieces.
fn front(chunks: &[Bytes], most: usize) -> ([Bytes; MAX_PIECES], usize) {
    let pieces = chunks.iter().flat_map(|chunk| {
        let ends = |at: usize| at..chunk.len().min(at + PIECE_BYTES);
        (0..chunk.len()).step_by(PIECE_BYTES).map(move |at| chunk.slice(ends(at)))
    });
    let mut left = most;
    let pieces = pieces.map_while(|mut piece| {
        piece.truncate(left);
        left -= piece.len();
        (!piece.is_empty()).then_some(piece)
    });
    let mut front = [const { Bytes::new() }; MAX_PIECES];
    let count = front.iter_mut().zip(pieces).map(|(slot, piece)| *slot = piece).count();
    (front, count)
}

/// Drops the bytes of a stream that the peer stopped, and counts them as written.
fn unwanted(chunks: &mut [Bytes]) -> usize {
    chunks.iter_mut().map(|chunk| std::mem::take(chunk).len()).sum()
}

fn disconnected(error: impl std::fmt::Display) -> Disconnected {
    Disconnected(error.to_string())
}

/// A connected receiver.
#[derive(Debug)]
pub(crate) struct QuicConnection(Arc<Path>);

/// A connection, and the state of its path.
#[derive(Debug)]
struct Path {
    connection: quinn::Connection,
    /// The peer's address and the state of the path to it. A peer that moves gets a new path with its own congestion
    /// control.
    known: Mutex<(SocketAddr, Arc<Known>)>,
}

impl Path {
    /// Returns the state of the path at the last look.
    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Checks the peer's address and returns the state of its path.
    fn look(&self) -> Arc<Known> {
        let address = self.connection.remote_address();
        let mut of = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if of.0 != address {
            *of = (address, known(&self.connection));
        }
        Arc::clone(&of.1)
    }
}

impl Drop for QuicConnection {
    /// Closes a connection whose feed broke off without a reason; quinn would send code 0, a normal end of the
    /// broadcast.
    fn drop(&mut self) {
        if self.0.connection.close_reason().is_none() {
            self.close(Close { code: Code::Failed, why: "the feed broke off" });
        }
    }
}

impl Connection for QuicConnection {
    type Outgoing = Stream;
    type Incoming = RecvStream;

    fn address(&self) -> SocketAddr {
        self.0.connection.remote_address()
    }

    /// Returns the path that the peer had when the last stream was opened.
    fn path(&self) -> PathStats {
        self.0.known().path()
    }

    fn handle_reset(&self) {
        self.0.known().handle_reset();
    }

    fn allow_beyond(&self, packets: u64) {
        self.0.known().allow_beyond(packets);
    }

    async fn accept_control(&self) -> Result<(Stream, RecvStream), Disconnected> {
        let (stream, incoming) = self.0.connection.accept_bi().await.map_err(disconnected)?;
        Ok((Stream { stream, path: Arc::clone(&self.0) }, incoming))
    }

    async fn open(&self, urgency: Urgency) -> Result<Stream, Disconnected> {
        let stream = self.0.connection.open_uni().await.map_err(disconnected)?;
        if urgency == Urgency::First {
            stream.set_priority(1).map_err(disconnected)?;
        }
        self.0.look();
        Ok(Stream { stream, path: Arc::clone(&self.0) })
    }

    async fn closed(&self) -> Disconnected {
        disconnected(self.0.connection.closed().await)
    }

    fn close(&self, close: Close) {
        // This precedes the close itself, because quinn builds the packet at once.
        self.0.look().close();
        self.0.connection.close(VarInt::from_u32(close.code.number()), close.why.as_bytes());
    }
}

/// A stream to a receiver.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: SendStream,
    path: Arc<Path>,
}

impl Outgoing for Stream {
    fn number(&self) -> u64 {
        VarInt::from(self.stream.id()).into_inner()
    }

    async fn write(&mut self, chunks: &mut [Bytes], room: Room) -> Result<usize, Disconnected> {
        let mut known = self.path.known();
        let most = loop {
            match known.room(room.pending).await {
                Some(most) => break most,
                None => known = self.path.look(),
            }
        };
        self.path.connection.set_send_window(room.held);
        let (mut front, count) = front(chunks, most);
        let written = match self.stream.write_chunks(&mut front[..count]).await {
            Ok(written) => written.bytes,
            Err(quinn::WriteError::Stopped(_)) => return Ok(unwanted(chunks)),
            Err(error) => return Err(disconnected(error)),
        };
        known.handle_written(written as u64);
        let mut left = written;
        for chunk in chunks {
            let from_chunk = left.min(chunk.len());
            chunk.advance(from_chunk);
            left -= from_chunk;
        }
        Ok(written)
    }

    fn finish(&mut self) {
        // Lost bytes of this stream go before newer streams: quinn would send them again only when nothing else waits.
        let _ = self.stream.set_priority(1);
        // It fails only for a stream that the peer stopped: then nobody waits for its end.
        let _ = self.stream.finish();
    }

    fn reset(&mut self) {
        // It fails only for a stream that has ended.
        let _ = self.stream.reset(VarInt::from_u32(0));
    }

    async fn settled(&mut self) {
        // It fails if the connection is lost: then nothing more arrives.
        let _ = self.stream.stopped().await;
    }
}

impl Incoming for RecvStream {
    async fn read(&mut self) -> Result<Option<Bytes>, Disconnected> {
        Ok(self.read_chunk(MAX_READ_BYTES, true).await.map_err(disconnected)?.map(|chunk| chunk.bytes))
    }
}
