//! QUIC by quinn: endpoint, limits and streams.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use nestcast_proto::{Close, INITIAL_WINDOW, SESSION_ALPN};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    AckFrequencyConfig, AsyncUdpSocket, EndpointConfig, Runtime as _, ServerConfig, TokioRuntime, TransportConfig,
    VarInt,
};
use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;
use socket2::SockRef;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::clock::WallClock;
use crate::config::Acknowledge;
use crate::error::Error;
use crate::identity::Identity;
use crate::quic::browser::{BROWSER_ALPN, BrowserHandshake};
use crate::quic::certificates::Certificates;
use crate::quic::congestion::{Factory, SharedClock};
use crate::quic::connection::{QuicConnection, disconnected};
use crate::quic::connection_ids::{Closes, ConnectionIds, reset_key};
#[cfg(feature = "qlog")]
use crate::quic::qlog::Logs;
use crate::quic::tasks::{Tasks, TrackedRuntime};
use crate::transport::Disconnected;

/// The time after which a silent receiver counts as gone. If the receiver has a shorter timeout, that one applies (RFC
/// 9000, section 10.1); nestcast's receiver has one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);
/// The bytes that a receiver may send ahead: room for a hello and a request.
const RECEIVE_WINDOW_BYTES: u32 = 16 * 1024;
/// The bytes of all receivers that may wait to be read: the first packets of a thousand receivers that connect at once.
const SOCKET_BUFFER_BYTES: usize = 2 * 1024 * 1024;
/// The most first packets that may wait; quinn drops others unread.
const MAX_FIRST_PACKETS: usize = 2048;
/// QUIC version 1 only: quinn would offer drafts too.
const QUIC_VERSIONS: [u32; 1] = [1];
/// The round trip to assume before the first measurement.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// The streams that a receiver may have open at once: its control stream.
const RECEIVER_STREAMS: Streams = Streams { bidirectional: 1, unidirectional: 0, datagram_bytes: None };
/// The streams that a browser may have open at once: its request and the page's control stream; control, encoder and
/// decoder of HTTP/3. A browser speaks WebTransport only to an end that accepts datagrams. Nobody reads them, so this
/// end holds few bytes of them.
const BROWSER_STREAMS: Streams = Streams { bidirectional: 2, unidirectional: 3, datagram_bytes: Some(2048) };
/// How long a sender that ends waits until its peers have the reason and its socket is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// The time after which a silent browser is asked whether it is still there. It sends nothing by itself while a picture
/// stays.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(3);

/// The streams that a peer may open, and the bytes of datagrams that it may send.
#[derive(Debug, Clone, Copy)]
struct Streams {
    bidirectional: u32,
    unidirectional: u32,
    datagram_bytes: Option<usize>,
}

/// The socket of a broadcast.
#[derive(Debug)]
pub struct SenderSocket {
    socket: Arc<dyn AsyncUdpSocket>,
    address: SocketAddr,
    seed: Option<[u8; 32]>,
}

impl SenderSocket {
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
        needs_runtime(address)?;
        let bound = socket(address).and_then(|socket| TokioRuntime.wrap_udp_socket(socket));
        let socket = bound.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket, address, seed: None })
    }
}

/// Accepts receivers.
#[derive(Debug)]
pub(crate) struct Listener {
    endpoint: quinn::Endpoint,
    /// quinn's tasks, which hold the socket.
    tasks: Tasks,
    certificates: Arc<Certificates>,
    /// Whether browsers may connect.
    browsers: bool,
    closes: Closes,
    #[cfg(feature = "qlog")]
    logs: Logs,
}

impl Listener {
    /// Listens on a socket; to browsers too if `browsers` is set.
    pub(crate) fn new(
        SenderSocket { socket, address, seed }: SenderSocket,
        identity: Identity,
        acknowledge: Acknowledge,
        browsers: bool,
    ) -> Result<Self, Error> {
        needs_runtime(address)?;
        let clock = if seed.is_some() { SharedClock::simulated() } else { SharedClock::utc() };
        let mut own = EndpointConfig::new(reset_key(&identity.key));
        let provider = Arc::new(provider());
        let certificates = Arc::new(Certificates::new(Arc::clone(&provider), identity)?);
        let mut config = config(provider, Arc::clone(&certificates), browsers)?;
        let transport = if browsers { transport_with_browsers } else { transport_of_receivers };
        config.transport_config(Arc::new(transport(clock, acknowledge)));
        #[cfg(feature = "qlog")]
        let logs = Logs { folder: None, config: config.clone(), transport, acknowledge, clock };
        let closes = Closes::default();
        let ids = closes.clone();
        own.supported_versions(QUIC_VERSIONS.to_vec())
            .cid_generator(move || Box::new(ConnectionIds::new(ids.clone())))
            .rng_seed(seed);
        let (runtime, tasks) = TrackedRuntime::new();
        let endpoint = quinn::Endpoint::new_with_abstract_socket(own, Some(config), socket, Arc::new(runtime))
            .map_err(|source| Error::Listen { address, source })?;
        Ok(Self {
            endpoint,
            tasks,
            certificates,
            browsers,
            closes,
            #[cfg(feature = "qlog")]
            logs,
        })
    }

    /// Writes a qlog file of each connection to this folder.
    #[cfg(feature = "qlog")]
    pub(crate) fn with_qlog(self, folder: Option<std::path::PathBuf>) -> Self {
        Self { logs: Logs { folder, ..self.logs }, ..self }
    }

    pub(crate) fn certificates(&self) -> Arc<Certificates> {
        Arc::clone(&self.certificates)
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.endpoint.local_addr().ok()
    }

    /// Returns the next peer that asks for a connection; `None` after the endpoint is closed. Callers may drop it while
    /// it waits.
    pub(crate) async fn accept(&self) -> Option<Handshake> {
        let incoming = self.endpoint.accept().await?;
        Some(Handshake {
            incoming,
            browsers: self.browsers,
            closes: self.closes.clone(),
            #[cfg(feature = "qlog")]
            logs: self.logs.clone(),
        })
    }

    /// Closes the open connections. Waits until the peers have the reason and the socket is closed. Drop each [`Handshake`]
    /// and each connection first: they hold the socket.
    pub(crate) async fn close(self, close: Close) {
        let Self { endpoint, tasks, closes, .. } = self;
        closes.note_all();
        endpoint.close(VarInt::from_u32(close.code.number()), close.why.as_bytes());
        let closed = async move {
            endpoint.wait_idle().await;
            drop(endpoint);
            tasks.ended().await;
        };
        if timeout(CLOSE_WITHIN, closed).await.is_err() {
            tracing::debug!("the socket is still open: a connection takes long to close");
        }
    }
}

/// The peer that a handshake connected.
#[derive(Debug)]
pub(crate) enum Client {
    /// A native receiver.
    Receiver(QuicConnection),
    /// A browser, which asks for a session next.
    Browser(BrowserHandshake),
}

/// A handshake that has not begun. If it is dropped, the peer gets a refusal.
#[derive(Debug)]
pub(crate) struct Handshake {
    incoming: quinn::Incoming,
    browsers: bool,
    closes: Closes,
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
        // This fails only if the address is already validated.
        let _ = self.incoming.retry();
    }

    /// Sends no answer, so the peer will try again.
    pub(crate) fn ignore(self) {
        self.incoming.ignore();
    }

    /// Performs the handshake.
    pub(crate) async fn perform(self) -> Result<Client, Disconnected> {
        #[cfg(feature = "qlog")]
        let (connecting, closing) = match self.logs.config_of(&self.incoming) {
            Some(config) => self.closes.of(|| self.incoming.accept_with(config)),
            None => self.closes.of(|| self.incoming.accept()),
        };
        #[cfg(not(feature = "qlog"))]
        let (connecting, closing) = self.closes.of(|| self.incoming.accept());
        let mut connecting = connecting.map_err(disconnected)?;
        if self.browsers && BrowserHandshake::is_of(&mut connecting).await? {
            return BrowserHandshake::perform(connecting, closing).await.map(Client::Browser);
        }
        Ok(Client::Receiver(QuicConnection::new(connecting.await.map_err(disconnected)?, closing)))
    }
}

/// Refuses to listen outside a tokio runtime, where quinn would panic.
fn needs_runtime(address: SocketAddr) -> Result<(), Error> {
    let found = Handle::try_current().map(drop);
    found.map_err(|error| Error::Listen { address, source: std::io::Error::other(error) })
}

fn socket(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    // If the system's limit is lower, the system uses its limit.
    if let Err(error) = SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER_BYTES) {
        tracing::debug!("the socket's buffer stays as it is: {error}");
    }
    Ok(socket)
}

fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    // Every packet is encrypted for one receiver. AES-128-GCM, which every TLS 1.3 peer has (RFC 8446, section 9.1),
    // needs 10 rounds in place of 14.
    provider.cipher_suites.retain(|suite| suite.suite() != CipherSuite::TLS13_AES_256_GCM_SHA384);
    provider
}

fn config(
    provider: Arc<CryptoProvider>,
    certificates: Arc<Certificates>,
    browsers: bool,
) -> Result<ServerConfig, Error> {
    let tls = |error: &dyn std::fmt::Display| Error::Tls(error.to_string());
    let mut crypto = rustls::ServerConfig::builder_with_details(provider, Arc::new(WallClock))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| tls(&error))?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    crypto.alpn_protocols = vec![SESSION_ALPN.to_vec()];
    crypto.alpn_protocols.extend(browsers.then(|| BROWSER_ALPN.to_vec()));
    // Without tickets there is no resumption, and so there are no 0-RTT data to replay.
    crypto.send_tls13_tickets = 0;
    crypto.max_early_data_size = 0;
    let crypto = QuicServerConfig::try_from(crypto).map_err(|error| tls(&error))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.max_incoming(MAX_FIRST_PACKETS).incoming_buffer_size(8 * 1024).incoming_buffer_size_total(1024 * 1024);
    Ok(config)
}

/// Configures connections of receivers alone, which share a clock.
fn transport_of_receivers(clock: SharedClock, acknowledge: Acknowledge) -> TransportConfig {
    transport(clock, acknowledge, RECEIVER_STREAMS)
}

/// Configures connections of receivers and browsers. The limits on streams are sent before the peer says which of the
/// two it is.
fn transport_with_browsers(clock: SharedClock, acknowledge: Acknowledge) -> TransportConfig {
    let mut transport = transport(clock, acknowledge, BROWSER_STREAMS);
    transport.keep_alive_interval(Some(KEEP_ALIVE_INTERVAL));
    transport
}

fn transport(clock: SharedClock, acknowledge: Acknowledge, streams: Streams) -> TransportConfig {
    let mut acks = AckFrequencyConfig::default();
    // The threshold is the number of packets that may arrive without an acknowledgement.
    let threshold = acknowledge.packets.saturating_sub(1);
    acks.ack_eliciting_threshold(VarInt::from_u32(threshold)).max_ack_delay(Some(acknowledge.within));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(streams.bidirectional))
        .max_concurrent_uni_streams(VarInt::from_u32(streams.unidirectional))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .send_window(INITIAL_WINDOW)
        .datagram_receive_buffer_size(streams.datagram_bytes)
        .mtu_discovery_config(None)
        .initial_rtt(INITIAL_RTT)
        .ack_frequency_config(Some(acks))
        .max_idle_timeout(IDLE_TIMEOUT.try_into().ok())
        .congestion_controller_factory(Arc::new(Factory(clock)));
    transport
}
