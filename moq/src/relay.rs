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
use url::Url;
use web_transport_quinn::proto::ConnectRequest;
use web_transport_quinn::{ClientError, ConnectError, Session};

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
        let connected = client.connect_lite(Instant::now(), Stoppable::new(session, stops)).await;
        let (session, driver) = connected.map_err(|error| Error::Lost(error.to_string()))?;
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

/// Opens a session in one of our versions.
async fn open(url: &RelayUrl, address: SocketAddr, trust: &Trust) -> Result<(Endpoint, Session), Error> {
    let local = if address.is_ipv6() { (Ipv6Addr::UNSPECIFIED, 0).into() } else { (Ipv4Addr::UNSPECIFIED, 0).into() };
    let endpoint = Endpoint::client(local).map_err(Error::Socket)?;
    let way = Way { endpoint: &endpoint, url, address, trust };
    if let Some(session) = way.open(url.web_transport(), &MOQ_LITE_VERSIONS).await? {
        return Ok((endpoint, session));
    }
    let theirs = way.their_version().await;
    Err(Error::Version { address, theirs })
}

/// How a relay is reached.
struct Way<'a> {
    endpoint: &'a Endpoint,
    url: &'a RelayUrl,
    address: SocketAddr,
    trust: &'a Trust,
}

impl Way<'_> {
    /// Opens a session in one of these versions, over WebTransport if that has a URL, otherwise over QUIC itself; `None`
    /// if the relay chooses none of them.
    async fn open(&self, over_web_transport: Option<Url>, versions: &[&str]) -> Result<Option<Session>, Error> {
        let offered = if over_web_transport.is_some() { &[web_transport_quinn::ALPN][..] } else { versions };
        let connection = match self.dial(offered).await? {
            Ok(connection) => connection,
            Err(error) if is_other_protocol(&error) => return Ok(None),
            Err(error) => return Err(Error::Connect { address: self.address, cause: cause(&error) }),
        };
        let session = match over_web_transport {
            None => Session::raw(connection),
            Some(url) => {
                let request = ConnectRequest::new(url).with_protocols(versions.iter().map(|&name| name.to_owned()));
                match Session::connect(connection, request).await {
                    Ok(session) => session,
                    Err(ClientError::HttpError(ConnectError::ProtocolMismatch(_))) => return Ok(None),
                    Err(error) => return Err(self.refused(&error)),
                }
            }
        };
        let is_offered = session.protocol().is_some_and(|chosen| versions.contains(&chosen));
        Ok(is_offered.then_some(session))
    }

    /// Asks a relay that chose none of our versions which one it speaks.
    async fn their_version(&self) -> String {
        let web_transport = self.url.web_transport();
        let is_web_transport = web_transport.is_some();
        let mut theirs = self.ask(web_transport).await;
        if theirs.is_none() && is_web_transport {
            let is_ours = |version: &String| MOQ_LITE_VERSIONS.contains(&version.as_str());
            let advice = "but not over WebTransport (give moq:// in place of https://)";
            theirs = self.ask(None).await;
            theirs = theirs.map(|version| if is_ours(&version) { format!("{version}, {advice}") } else { version });
        }
        theirs.unwrap_or_else(|| "no version of Media over QUIC that has a name".to_owned())
    }

    /// Asks which version a relay chooses of all that have a name.
    async fn ask(&self, over_web_transport: Option<Url>) -> Option<String> {
        let session = self.open(over_web_transport, moq_net::ALPNS).await.ok()??;
        let chosen = session.protocol().map(str::to_owned);
        session.close(0, b"");
        chosen
    }

    /// Returns the error for an answer that is no session.
    fn refused(&self, error: &ClientError) -> Error {
        match error {
            ClientError::HttpError(ConnectError::ErrorStatus(status)) if matches!(status.as_u16(), 401 | 403) => {
                Error::Unauthorized
            }
            error => Error::Refused { url: self.url.to_string(), cause: error.to_string() },
        }
    }

    async fn dial(&self, offered: &[&str]) -> Result<Result<quinn::Connection, ConnectionError>, Error> {
        let setup = |error: &dyn std::fmt::Display| Error::Setup(error.to_string());
        let mut crypto = self.trust.config()?;
        crypto.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        let crypto = QuicClientConfig::try_from(crypto).map_err(|error| setup(&error))?;
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport()));
        let connecting = self.endpoint.connect_with(config, self.address, self.url.host());
        Ok(connecting.map_err(|error| setup(&error))?.await)
    }
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

fn cause(error: &ConnectionError) -> String {
    match error {
        ConnectionError::TimedOut => "no answer: is a relay there?".to_owned(),
        error => error.to_string(),
    }
}
