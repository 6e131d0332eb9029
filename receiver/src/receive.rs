//! Connection after connection, until the broadcast or the receiver ends.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, Close, Code, DecoderKind, Hello, VersionRange};

use crate::error::Error;
use crate::quic::{QuicConnection, Socket};
use crate::race;
use crate::retry::Retry;
use crate::session::{self, Ended};
use crate::sink::FrameSink;
use crate::transport::Connection as _;
use crate::trust::Trust;

/// Whom to receive from, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the sender is.
    pub address: SocketAddr,
    /// Other addresses of its host, which are tried too where one before them does not answer; of many, the first few.
    pub other_addresses: Vec<SocketAddr>,
    /// The name in its certificate; not looked at where a fingerprint is pinned.
    pub name: String,
    /// How it is known.
    pub trust: Trust,
    /// What lets this receiver in; may be empty.
    pub token: Bytes,
    /// The most that is wanted, as of [`Hello::max_bitrate`].
    pub max_bitrate: Option<Bitrate>,
    /// How frames are decoded; told to the sender.
    pub decoder: DecoderKind,
    /// Ask the sender for its model if it is missing here.
    pub fetch_model: bool,
    /// How long to try again while no frame is of use, at the start and later; zero: one attempt, and two at least with
    /// any other.
    pub retry: Duration,
}

impl Config {
    /// Decoded in plain Rust, without a token, a cap, a model that is fetched or a second attempt; the certificate's name is
    /// the address.
    #[must_use]
    pub fn new(address: SocketAddr, trust: Trust) -> Self {
        Self {
            address,
            other_addresses: Vec::new(),
            name: address.ip().to_string(),
            trust,
            token: Bytes::new(),
            max_bitrate: None,
            decoder: DecoderKind::Linear,
            fetch_model: false,
            retry: Duration::ZERO,
        }
    }
}

/// Receives until the broadcast ends, `shutdown` is ready, or no frame was of use for [`Config::retry`] and the connection
/// ended. The sender is told of a shutdown.
///
/// # Errors
/// Why it cannot go on.
pub async fn receive<S: FrameSink>(
    config: Config,
    sink: &mut S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    connections(&config, None, sink, std::pin::pin!(shutdown)).await
}

/// The same with packets that go and come by `socket`.
///
/// # Errors
/// As [`receive`].
pub async fn receive_over<S: FrameSink>(
    socket: Socket,
    config: Config,
    sink: &mut S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    connections(&config, Some(socket), sink, std::pin::pin!(shutdown)).await
}

async fn connections<S: FrameSink>(
    config: &Config,
    socket: Option<Socket>,
    sink: &mut S,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    let mut retry = Retry::new(config.retry);
    loop {
        let connected = tokio::select! {
            biased;
            connected = race::connect(config, socket.as_ref(), retry.attempt_time()) => connected,
            () = &mut shutdown => return Ok(()),
        };
        let (error, useful) = match connected {
            Ok(connection) => {
                sink.handle_connection();
                match run_connection(config, sink, &connection, shutdown.as_mut()).await {
                    None | Some(Ended { error: Error::Closed(Code::Done), .. }) => return Ok(()),
                    Some(Ended { error, handed_over }) => (error, sink.useful_for(handed_over)),
                }
            }
            Err(error) => (error, None),
        };
        if !error.may_retry() {
            return Err(error);
        }
        let Some(pause) = retry.next(useful, fastrand::f64()) else { return Err(given_up(error, &retry)) };
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        }
    }
}

fn given_up(last: Error, retry: &Retry) -> Error {
    match retry.spent() {
        (1, _) => last,
        (attempts, time) => Error::GaveUp { last: Box::new(last), attempts, time },
    }
}

/// How it ended; `None` if by a shutdown.
async fn run_connection<S: FrameSink>(
    config: &Config,
    sink: &mut S,
    connection: &QuicConnection,
    shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<Ended> {
    tracing::info!(address = %connection.address(), "connected");
    let Config { token, max_bitrate, decoder, .. } = config.clone();
    let hello = Hello { versions: VersionRange::SPOKEN, token, max_bitrate, decoder };
    let ended = tokio::select! {
        biased;
        () = shutdown => {
            connection.close(Close { code: Code::Done, why: "the receiver leaves" });
            None
        }
        ended = session::run(connection, hello, config.fetch_model, sink) => Some(ended),
    };
    connection.settle().await;
    ended
}
