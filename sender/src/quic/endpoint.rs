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

use crate::clock::WallClock;
use crate::config::Acknowledge;
use crate::error::Error;
use crate::identity::Identity;
use crate::quic::congestion::{Factory, Known, SharedClock, known};
use crate::quic::connection_ids::{ConnectionIds, reset_key};
#[cfg(feature = "qlog")]
use crate::quic::qlog::Logs;
use crate::transport::{Connection, Disconnected, Incoming, Outgoing};

/// A receiver that is silent for this long is gone, or for its own timeout if that is shorter (RFC 9000, section 10.1), as this
/// project's is.
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);
/// What a receiver may send ahead: a hello and a request.
const RECEIVE_WINDOW_BYTES: u32 = 16 * 1024;
/// Most bytes of one read of a control stream.
const MAX_READ_BYTES: usize = 2048;
/// What may wait to be read, of all receivers: the first packets of a thousand that come at once.
const SOCKET_BUFFER_BYTES: usize = 2 * 1024 * 1024;
/// First packets that may wait to be looked at; quinn drops others unread.
const MAX_FIRST_PACKETS: usize = 2048;
/// QUIC version 1 alone: quinn offers drafts besides.
const QUIC_VERSIONS: [u32; 1] = [1];
/// quinn takes what was acknowledged of a piece for held until all of it is: in pieces of half a packet, room comes
/// with every acknowledgement and not in lumps.
const PIECE_BYTES: usize = 600;
const MAX_PIECES: usize = 16;
/// Before the first measurement.
const INITIAL_RTT: Duration = Duration::from_millis(100);

/// Where a broadcast's packets go and come from.
#[derive(Debug)]
pub struct Socket {
    socket: Arc<dyn AsyncUdpSocket>,
    address: SocketAddr,
    seed: Option<[u8; 32]>,
}

impl Socket {
    /// Any transport of packets, as a simulated network has it. All that QUIC draws at random follows from `seed`, but for
    /// keys and connection IDs.
    ///
    /// # Errors
    /// If it does not tell its address.
    pub fn simulated(socket: Arc<dyn AsyncUdpSocket>, seed: [u8; 32]) -> std::io::Result<Self> {
        let address = socket.local_addr()?;
        Ok(Self { socket, address, seed: Some(seed) })
    }

    /// The system's.
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
        let mut own = EndpointConfig::new(reset_key(&identity.key));
        let mut config = config(identity)?;
        config.transport_config(Arc::new(transport(clock, acknowledge)));
        #[cfg(feature = "qlog")]
        let logs = Logs { folder: None, config: config.clone(), transport, acknowledge, clock };
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

    /// The next peer that asks for a connection; nothing once the endpoint is closed. May be dropped while it waits.
    pub(crate) async fn accept(&self) -> Option<Handshake> {
        let incoming = self.endpoint.accept().await?;
        Some(Handshake {
            incoming,
            #[cfg(feature = "qlog")]
            logs: self.logs.clone(),
        })
    }

    /// Closes what is still open and waits until peers have been told.
    pub(crate) async fn close(&self, close: Close) {
        self.endpoint.close(VarInt::from_u32(close.code.number()), close.why.as_bytes());
        let _ = tokio::time::timeout(Duration::from_secs(2), self.endpoint.wait_idle()).await;
    }
}

/// A handshake that has not begun. One that is dropped is refused with an answer.
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

    /// Whether the peer has answered from its address.
    pub(crate) fn address_validated(&self) -> bool {
        self.incoming.remote_address_validated()
    }

    /// Has the peer come again with a token, which shows that it answers from its address.
    pub(crate) fn retry(self) {
        // It fails only for an address that is validated.
        let _ = self.incoming.retry();
    }

    /// Sends no answer: the peer will come again.
    pub(crate) fn ignore(self) {
        self.incoming.ignore();
    }

    /// Performs it.
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
    // A system that allows less gives what it allows.
    if let Err(error) = SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER_BYTES) {
        tracing::debug!("the socket's buffer stays as it is: {error}");
    }
    Ok(socket)
}

fn config(identity: Identity) -> Result<ServerConfig, Error> {
    let tls = |error: &dyn std::fmt::Display| Error::Tls(error.to_string());
    let mut provider = rustls::crypto::ring::default_provider();
    // Every packet is sealed for one receiver. AES-128-GCM, which everyone has (RFC 8446, section 9.1), takes 10 rounds and not 14.
    provider.cipher_suites.retain(|suite| suite.suite() != CipherSuite::TLS13_AES_256_GCM_SHA384);
    let mut crypto = rustls::ServerConfig::builder_with_details(Arc::new(provider), Arc::new(WallClock))
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

/// For connections that share a clock.
fn transport(clock: SharedClock, acknowledge: Acknowledge) -> TransportConfig {
    let mut acks = AckFrequencyConfig::default();
    // So many may come unacknowledged.
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

/// The front of `chunks` in pieces, at most `most` bytes of it.
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

/// Of a stream that the peer stopped, as it may: it wants no more of it, so all of it counts as taken.
fn unwanted(chunks: &mut [Bytes]) -> usize {
    chunks.iter_mut().map(|chunk| std::mem::take(chunk).len()).sum()
}

fn disconnected(error: impl std::fmt::Display) -> Disconnected {
    Disconnected(error.to_string())
}

/// A connected receiver.
#[derive(Debug)]
pub(crate) struct QuicConnection(Arc<Path>);

/// Where a connection leads.
#[derive(Debug)]
struct Path {
    connection: quinn::Connection,
    /// Of the path to this address. A peer that moves to another has a path, and a congestion control, of its own there.
    known: Mutex<(SocketAddr, Arc<Known>)>,
}

impl Path {
    /// Of the path that was the peer's when it was last looked at.
    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Looks at where the peer is now.
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
    /// A feed that breaks off has not said why, and quinn would say code 0: that the broadcast came to its end.
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

    /// Of the path that was the peer's when the last stream was opened.
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
        // Before the close itself: the packet is built at once.
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
        // What of it is lost goes before what is newer: quinn would send that again when nothing else waits.
        let _ = self.stream.set_priority(1);
        // It fails only for a stream that the peer stopped: then nobody waits for its end.
        let _ = self.stream.finish();
    }

    fn reset(&mut self) {
        // It fails only for a stream that is done with.
        let _ = self.stream.reset(VarInt::from_u32(0));
    }

    async fn settled(&mut self) {
        // It fails with the connection: then nothing more arrives.
        let _ = self.stream.stopped().await;
    }
}

impl Incoming for RecvStream {
    async fn read(&mut self) -> Result<Option<Bytes>, Disconnected> {
        Ok(self.read_chunk(MAX_READ_BYTES, true).await.map_err(disconnected)?.map(|chunk| chunk.bytes))
    }
}
