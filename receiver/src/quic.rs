//! QUIC by quinn: the connection to a sender, and its limits.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use nestcast_proto::{Close, Code, MAX_STREAMS, SESSION_ALPN};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    AsyncUdpSocket, Chunk, ConnectError, ConnectionError, ConnectionIdGenerator, Endpoint, EndpointConfig, RecvStream,
    Runtime as _, SendStream, TokioRuntime, TransportConfig, VarInt,
};
use quinn_proto::RandomConnectionIdGenerator;
use rustls::client::Resumption;

use crate::config::ReceiverConfig;
use crate::error::{CertificateFault, ConnectionFault, Error};
use crate::transport::{Connection, Incoming, Outgoing, Scattered};
use crate::trust::Trust;

/// A sender that is silent for this long is gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(6);
/// The round trip that is assumed before one is measured, as at the sender: a lost first packet is sent again after three
/// of these. Where the round trip is longer, the packet is sent again without need.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// How long a sender is silent before the receiver pings it. If the receiver's address changed, the sender learns the new
/// one from that packet, because a receiver of frames sends nothing by itself.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// The most bytes that a sender may have in flight, and may make this end hold: twice the most that a nestcast sender
/// has in flight, because the receiver reads data at once.
const RECEIVE_WINDOW_BYTES: u32 = 2 * 1024 * 1024;
/// The most bytes of one read.
const MAX_READ_BYTES: usize = 64 * 1024;
/// QUIC version 1 only: quinn would accept drafts too.
const QUIC_VERSIONS: [u32; 1] = [1];
/// TLS's alert 120: the peer speaks another protocol (RFC 7301).
const NO_APPLICATION_PROTOCOL: u8 = 120;
/// TLS's alert 49, which this end sends if a certificate is not the pinned one (RFC 8446, section 6.2).
const ACCESS_DENIED: u8 = 49;

/// Opens a transport of packets; returns it with the seed of QUIC's random values.
type Open = dyn Fn() -> (Arc<dyn AsyncUdpSocket>, [u8; 32]) + Send + Sync;

/// The socket of a receiver. Clones share it.
#[derive(Clone)]
pub struct ReceiverSocket {
    open: Arc<Open>,
    is_shared: bool,
}

impl fmt::Debug for ReceiverSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverSocket").field("is_shared", &self.is_shared).finish_non_exhaustive()
    }
}

impl ReceiverSocket {
    /// Wraps any packet transport, such as a simulated network. QUIC draws all random values from `seed`, except keys.
    /// All attempts to connect use it, one after another.
    pub fn simulated(socket: Arc<dyn AsyncUdpSocket>, seed: [u8; 32]) -> Self {
        Self { open: Arc::new(move || (Arc::clone(&socket), seed)), is_shared: true }
    }

    /// Opens a transport, with the seed of its random values, for each attempt to connect, as a system gives each a port
    /// of its own.
    pub fn simulated_each(open: impl Fn() -> (Arc<dyn AsyncUdpSocket>, [u8; 32]) + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), is_shared: false }
    }

    /// Returns whether all attempts use one transport. Then only one of them can be under way.
    pub(crate) const fn is_shared(&self) -> bool {
        self.is_shared
    }
}

/// Binds a UDP socket of the system, to reach `address`.
fn bind(address: SocketAddr) -> std::io::Result<Arc<dyn AsyncUdpSocket>> {
    let local: SocketAddr = if address.is_ipv6() { ([0_u16; 8], 0).into() } else { ([0_u8; 4], 0).into() };
    let socket = UdpSocket::bind(local)?;
    let same = socket.try_clone()?;
    let socket = TokioRuntime.wrap_udp_socket(socket)?;
    separate(&same);
    Ok(socket)
}

/// A connection to a sender.
#[derive(Debug)]
pub(crate) struct QuicConnection {
    connection: quinn::Connection,
    address: SocketAddr,
    /// Kept open as long as the connection.
    endpoint: Endpoint,
}

impl QuicConnection {
    /// Connects to the configured sender at `address` within `time`, over `socket` or a new one.
    pub(crate) async fn connect(
        to: &ReceiverConfig,
        address: SocketAddr,
        socket: Option<&ReceiverSocket>,
        time: Duration,
    ) -> Result<Self, Error> {
        let setup = |error: &dyn fmt::Display| Error::Setup(error.to_string());
        let config = config(&to.trust)?;
        let open = |socket: &ReceiverSocket| (socket.open)();
        let opened = socket
            .map(open)
            .map_or_else(|| bind(address).map(|socket| (socket, None)), |(socket, seed)| Ok((socket, Some(seed))));
        let endpoint = opened.and_then(|(socket, seed)| {
            let mut own = EndpointConfig::default();
            let no_ids = || Box::new(RandomConnectionIdGenerator::new(0)) as Box<dyn ConnectionIdGenerator>;
            own.supported_versions(QUIC_VERSIONS.to_vec()).cid_generator(no_ids).rng_seed(seed);
            Endpoint::new_with_abstract_socket(own, None, socket, Arc::new(TokioRuntime))
        });
        let endpoint = endpoint.map_err(Error::Socket)?;
        let connecting =
            endpoint.connect_with(config, address, &to.name).map_err(|error: ConnectError| setup(&error))?;
        let connected = tokio::time::timeout(time, connecting).await;
        let connection = connected.map_err(|_| late(address))?.map_err(|error| failure(address, &error, true))?;
        Ok(Self { connection, address, endpoint })
    }

    /// Returns the sender's address.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    fn lost(&self, error: &ConnectionError) -> Error {
        failure(self.address, error, false)
    }
}

fn config(trust: &Trust) -> Result<quinn::ClientConfig, Error> {
    let mut crypto = trust.config()?;
    crypto.alpn_protocols = vec![SESSION_ALPN.to_vec()];
    crypto.enable_early_data = false;
    // A nestcast sender issues no tickets; the receiver keeps none of other senders.
    crypto.resumption = Resumption::disabled();
    let crypto = QuicClientConfig::try_from(crypto).map_err(|error| Error::Setup(error.to_string()))?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport()));
    Ok(config)
}

/// Disables the joining of datagrams, which quinn enables: while one of them waits to be put in order, it would hold
/// the memory of all joined ones, 64 KiB for 1.
fn separate(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{setsockopt, sockopt};
        // A system without this option does not join them.
        let _ = setsockopt(socket, sockopt::UdpGroSegment, &false);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .datagram_receive_buffer_size(None)
        .initial_rtt(INITIAL_RTT)
        .keep_alive_interval(Some(KEEP_ALIVE_INTERVAL))
        .max_idle_timeout(IDLE_TIMEOUT.try_into().ok());
    transport
}

fn late(address: SocketAddr) -> Error {
    Error::Connect { address, cause: ConnectionFault::NoAnswer }
}

/// Converts the end of a connection to an error.
fn failure(address: SocketAddr, error: &ConnectionError, connecting: bool) -> Error {
    match error {
        ConnectionError::ApplicationClosed(close) => Error::Closed(Code::from_number(close.error_code.into())),
        ConnectionError::TransportError(error) if alert(error.code) == Some(NO_APPLICATION_PROTOCOL) => {
            Error::Closed(Code::Version)
        }
        ConnectionError::TransportError(error) if alert(error.code) == Some(ACCESS_DENIED) => {
            Error::Untrusted { address, fault: CertificateFault::Fingerprint }
        }
        ConnectionError::TransportError(error) if alert(error.code).is_some() => {
            Error::Untrusted { address, fault: certificate_fault(alert(error.code), &error.reason) }
        }
        ConnectionError::TimedOut if connecting => late(address),
        error if connecting => Error::Connect { address, cause: connection_fault(error) },
        error => Error::Lost { address, cause: connection_fault(error) },
    }
}

/// Returns what is wrong with a certificate, by this end's alert and the message of `rustls`, which is for programmers.
fn certificate_fault(alert: Option<u8>, reason: &str) -> CertificateFault {
    const EXPIRED_ALERT: u8 = 45;
    const UNKNOWN_AUTHORITY_ALERT: u8 = 48;
    match alert {
        Some(EXPIRED_ALERT) => CertificateFault::Expired,
        Some(UNKNOWN_AUTHORITY_ALERT) => CertificateFault::UnknownAuthority,
        _ if reason.contains("CaUsedAsEndEntity") => CertificateFault::OfAuthority,
        _ if reason.contains("NotValidYet") || reason.contains("not valid yet") => CertificateFault::NotYetValid,
        _ if reason.contains("not valid for name") || reason.contains("NotValidForName") => CertificateFault::Name,
        _ => CertificateFault::Invalid,
    }
}

/// Returns why a connection ended.
const fn connection_fault(error: &ConnectionError) -> ConnectionFault {
    match error {
        ConnectionError::VersionMismatch => ConnectionFault::Version,
        ConnectionError::TransportError(_) => ConnectionFault::Violation,
        ConnectionError::ConnectionClosed(_) => ConnectionFault::Refused,
        ConnectionError::ApplicationClosed(_) => ConnectionFault::Closed,
        ConnectionError::Reset => ConnectionFault::Reset,
        ConnectionError::TimedOut => ConnectionFault::TimedOut,
        ConnectionError::LocallyClosed => ConnectionFault::ClosedHere,
        ConnectionError::CidsExhausted => ConnectionFault::NoConnectionId,
    }
}

/// Returns the TLS alert of a transport error (RFC 9001, section 4.8).
fn alert(code: quinn::TransportErrorCode) -> Option<u8> {
    let code: u64 = code.into();
    (code >> 8 == 1).then(|| u8::try_from(code & 0xFF).ok()).flatten()
}

impl Connection for QuicConnection {
    type Outgoing = ControlStream;
    type Incoming = Stream;

    async fn open_control(&self) -> Result<(ControlStream, Stream), Error> {
        let (outgoing, incoming) = self.connection.open_bi().await.map_err(|error| self.lost(&error))?;
        let control = ControlStream { stream: outgoing, connection: self.connection.clone(), address: self.address };
        Ok((control, Stream { stream: incoming, address: self.address }))
    }

    async fn accept(&self) -> Result<Stream, Error> {
        let stream = self.connection.accept_uni().await.map_err(|error| self.lost(&error))?;
        Ok(Stream { stream, address: self.address })
    }

    async fn closed(&self) -> Error {
        self.lost(&self.connection.closed().await)
    }

    fn rtt(&self) -> Duration {
        self.connection.rtt()
    }

    fn close(&self, close: Close) {
        self.connection.close(VarInt::from_u32(close.code.number()), close.why.as_bytes());
    }
}

impl QuicConnection {
    /// Waits until the sender has learned of the end.
    pub(crate) async fn settle(&self) {
        let _ = tokio::time::timeout(Duration::from_millis(500), self.endpoint.wait_idle()).await;
    }
}

/// The control stream to the sender.
#[derive(Debug)]
pub(crate) struct ControlStream {
    stream: SendStream,
    connection: quinn::Connection,
    address: SocketAddr,
}

impl Outgoing for ControlStream {
    async fn write(&mut self, bytes: &mut Bytes) -> Result<(), Error> {
        match self.stream.write(bytes).await {
            Ok(written) => bytes.advance(written),
            Err(quinn::WriteError::ConnectionLost(error)) => return Err(failure(self.address, &error, false)),
            // The reason arrives with the connection's close.
            Err(quinn::WriteError::Stopped(_)) => {
                return Err(failure(self.address, &self.connection.closed().await, false));
            }
            Err(quinn::WriteError::ClosedStream | quinn::WriteError::ZeroRttRejected) => {
                return Err(Error::Lost { address: self.address, cause: ConnectionFault::ClosedHere });
            }
        }
        Ok(())
    }
}

/// A stream from the sender.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: RecvStream,
    address: SocketAddr,
}

impl Incoming for Stream {
    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        Ok(self.chunk(true).await?.map(|chunk| chunk.bytes))
    }
}

impl Scattered for Stream {
    fn number(&self) -> u64 {
        VarInt::from(self.stream.id()).into_inner()
    }

    async fn read_scattered(&mut self) -> Result<Option<(u64, Bytes)>, Error> {
        Ok(self.chunk(false).await?.map(|chunk| (chunk.offset, chunk.bytes)))
    }
}

impl Stream {
    async fn chunk(&mut self, ordered: bool) -> Result<Option<Chunk>, Error> {
        match self.stream.read_chunk(MAX_READ_BYTES, ordered).await {
            Ok(chunk) => Ok(chunk),
            // A reset ends the frame where it is: the prefix is valid.
            Err(quinn::ReadError::Reset(_)) => Ok(None),
            Err(quinn::ReadError::ConnectionLost(error)) => Err(failure(self.address, &error, false)),
            Err(
                quinn::ReadError::ClosedStream
                | quinn::ReadError::IllegalOrderedRead
                | quinn::ReadError::ZeroRttRejected,
            ) => Err(Error::Lost { address: self.address, cause: ConnectionFault::ClosedHere }),
        }
    }
}
