//! The connection to a relay: QUIC or WebTransport by quinn, and moq-lite on it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use moq_net::origin;
use nestcast_receiver::Trust;
use nestcast_relayed::Version;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ConnectionError, Endpoint, TransportConfig, VarInt};
use tokio::task::JoinSet;
use tokio::time::timeout;
use web_transport_quinn::Session;
use web_transport_quinn::proto::ConnectRequest;

use crate::error::Error;
use crate::stoppable::{Stoppable, Stops};
use crate::url::RelayUrl;

/// The versions of moq-lite that this build speaks, the best one first. Older ones have no timestamps.
pub const MOQ_LITE_VERSIONS: [&str; 2] = [Version::ALL[0].name(), Version::ALL[1].name()];
/// A relay that is silent for this long is gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(6);
/// The round trip that is assumed before one is measured, as for a sender.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// How long a relay is silent before this end pings it, as for a sender.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// The streams that a relay may open at once: two for each frame of the last seconds.
const MAX_STREAMS: u32 = 256;
/// The most bytes that a relay may have in flight.
const RECEIVE_WINDOW_BYTES: u32 = 2 * 1024 * 1024;
/// The close code of moq-lite for a client that may not do this.
const UNAUTHORIZED_CODE: u64 = 2;
/// TLS's alert 120: the relay speaks none of the offered protocols (RFC 7301).
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// A connection to a relay, until it is dropped.
pub(crate) struct Relay {
    connection: quinn::Connection,
    session: moq_net::Session,
    _driver: JoinSet<()>,
    endpoint: Endpoint,
}

impl Relay {
    /// Connects within `time`, to publish what `publish` has and to subscribe into `subscribe`.
    pub(crate) async fn connect(
        url: &RelayUrl,
        trust: &Trust,
        time: Duration,
        publish: Option<origin::Producer>,
        subscribe: Option<(origin::Producer, Stops)>,
    ) -> Result<Self, Error> {
        let address = look_up(url).await?;
        let late = |_| Error::Connect { address, cause: "no answer: is a relay there?".to_owned() };
        let (endpoint, session) = timeout(time, open(url, address, trust)).await.map_err(late)??;
        let connection = (*session).clone();
        let mut client = moq_net::Client::new();
        if !url.is_web_transport() {
            client = client.with_path(url.path());
        }
        if let Some(origin) = &publish {
            client = client.with_publisher(origin);
        }
        let stops = match subscribe {
            Some((origin, stops)) => {
                client = client.with_subscriber(origin);
                stops
            }
            None => Stops::default(),
        };
        let theirs = session.protocol().unwrap_or("another protocol").to_owned();
        let connected = client.connect_lite(Instant::now(), Stoppable::new(session, stops)).await;
        let (session, driver) = connected.map_err(|error| match error {
            moq_net::Error::Version => Error::Version { address, theirs },
            error => Error::Lost(error.to_string()),
        })?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let end = moq_net::time::run(driver).await;
            tracing::debug!("the session with the relay ended: {end}");
        });
        Ok(Self { connection, session, _driver: tasks, endpoint })
    }

    /// Returns the path's round-trip time.
    pub(crate) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }

    /// Waits until the connection has ended; returns why.
    pub(crate) async fn closed(&self) -> Error {
        let error = self.session.closed().await;
        let told = match self.connection.close_reason() {
            Some(ConnectionError::ApplicationClosed(close)) => u64::from(close.error_code) == UNAUTHORIZED_CODE,
            _ => false,
        };
        match error {
            moq_net::Error::Session(moq_net::SessionError::Unauthorized) => Error::Unauthorized,
            _ if told => Error::Unauthorized,
            error => Error::Lost(error.to_string()),
        }
    }

    /// Ends the connection, and waits a little until the relay knows.
    pub(crate) async fn close(self) {
        let closed = timeout(Duration::from_millis(300), self.session.close()).await;
        if !matches!(closed, Ok(Ok(()))) {
            tracing::debug!("the session with the relay did not close in time");
        }
        self.connection.close(VarInt::from_u32(0), b"");
        // The peer may be gone.
        let _ = timeout(Duration::from_millis(300), self.endpoint.wait_idle()).await;
    }
}

/// Returns the relay's address.
async fn look_up(url: &RelayUrl) -> Result<SocketAddr, Error> {
    let found = tokio::net::lookup_host((url.host(), url.port())).await;
    found.ok().and_then(|mut found| found.next()).ok_or_else(|| Error::UnknownHost(url.host().to_owned()))
}

/// Opens the connection, in one of our versions.
async fn open(url: &RelayUrl, address: SocketAddr, trust: &Trust) -> Result<(Endpoint, Session), Error> {
    let local = if address.is_ipv6() { (Ipv6Addr::UNSPECIFIED, 0).into() } else { (Ipv4Addr::UNSPECIFIED, 0).into() };
    let endpoint = Endpoint::client(local).map_err(Error::Socket)?;
    let offered: &[&str] = if url.is_web_transport() { &[web_transport_quinn::ALPN] } else { &MOQ_LITE_VERSIONS };
    let connection = match dial(&endpoint, url, address, trust, offered).await? {
        Ok(connection) => connection,
        Err(error) if is_other_protocol(&error) => {
            let theirs = their_version(&endpoint, url, address, trust).await;
            return Err(Error::Version { address, theirs });
        }
        Err(error) => return Err(Error::Connect { address, cause: cause(&error) }),
    };
    let session = match url.web_transport() {
        Some(path) if url.is_web_transport() => {
            let request = ConnectRequest::new(path).with_protocols(MOQ_LITE_VERSIONS.map(str::to_owned));
            let refused = |error: web_transport_quinn::ClientError| Error::Refused {
                url: url.to_string(),
                cause: error.to_string(),
            };
            Session::connect(connection, request).await.map_err(refused)?
        }
        _ => Session::raw(connection),
    };
    Ok((endpoint, session))
}

async fn dial(
    endpoint: &Endpoint,
    url: &RelayUrl,
    address: SocketAddr,
    trust: &Trust,
    offered: &[&str],
) -> Result<Result<quinn::Connection, ConnectionError>, Error> {
    let setup = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
    let mut crypto = trust.config()?;
    crypto.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
    let crypto = QuicClientConfig::try_from(crypto).map_err(|error| setup(&error))?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport()));
    let connecting = endpoint.connect_with(config, address, url.host()).map_err(|error| setup(&error))?;
    Ok(connecting.await)
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .initial_rtt(INITIAL_RTT)
        .keep_alive_interval(Some(KEEP_ALIVE_INTERVAL))
        .max_idle_timeout(IDLE_TIMEOUT.try_into().ok());
    transport
}

fn is_other_protocol(error: &ConnectionError) -> bool {
    let alert = u64::from(0x100 + u16::from(NO_APPLICATION_PROTOCOL));
    match error {
        ConnectionError::ConnectionClosed(close) => u64::from(close.error_code) == alert,
        ConnectionError::TransportError(error) => u64::from(error.code) == alert,
        _ => false,
    }
}

/// Asks a relay that speaks none of our versions which one it speaks.
async fn their_version(endpoint: &Endpoint, url: &RelayUrl, address: SocketAddr, trust: &Trust) -> String {
    let dialled = dial(endpoint, url, address, trust, moq_net::ALPNS).await;
    let chosen = dialled.ok().and_then(Result::ok).and_then(|connection| {
        let chosen = Session::raw(connection.clone()).protocol().map(str::to_owned);
        connection.close(VarInt::from_u32(0), b"");
        chosen
    });
    chosen.unwrap_or_else(|| "another protocol".to_owned())
}

fn cause(error: &ConnectionError) -> String {
    match error {
        ConnectionError::TimedOut => "no answer: is a relay there?".to_owned(),
        error => error.to_string(),
    }
}
