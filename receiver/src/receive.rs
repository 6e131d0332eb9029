//! Connection after connection, until the broadcast or the receiver ends.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_proto::{Bitrate, DecoderKind, Hello};

use crate::error::Error;
use crate::play::Player;
use crate::quic::QuicLink;
use crate::session;
use crate::trust::Trust;
use crate::view::Viewer;

/// Between two attempts to connect: twice as long after each, between these.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Whom to receive from, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the sender is.
    pub address: SocketAddr,
    /// The name in its certificate; not looked at where a fingerprint is pinned.
    pub name: String,
    /// How it is known.
    pub trust: Trust,
    /// What lets this receiver in; may be empty.
    pub token: Bytes,
    /// The most that is wanted.
    pub max_bitrate: Option<Bitrate>,
    /// How frames are decoded; told to the sender.
    pub decoder: DecoderKind,
    /// Ask the sender for its model if it is missing here.
    pub fetch_model: bool,
    /// How long to try to connect, first and again; zero: one attempt.
    pub retry: Duration,
}

/// Receives until the broadcast ends, `shutdown` is ready, or no sender is found for [`Config::retry`].
///
/// # Errors
/// Why it cannot go on.
pub async fn receive(config: Config, viewer: impl Viewer, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let player = Player::start(viewer);
    let outcome = tokio::select! {
        outcome = connections(&config, &player) => outcome,
        () = shutdown => Ok(()),
    };
    // What the viewer says is nearer to the cause than what the connection does.
    player.finish().await.and(outcome)
}

async fn connections(config: &Config, player: &Player) -> Result<(), Error> {
    let mut pause = FIRST_PAUSE;
    let mut alone = Instant::now();
    loop {
        let error = match connection(config, player, &mut alone, &mut pause).await {
            Ok(()) | Err(Error::Closed(nestcast_proto::Code::Done)) => return Ok(()),
            Err(error) => error,
        };
        if !error.may_retry() || alone.elapsed() + pause > config.retry {
            return Err(error);
        }
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
        player.reconnected();
    }
}

async fn connection(config: &Config, player: &Player, alone: &mut Instant, pause: &mut Duration) -> Result<(), Error> {
    let link = QuicLink::connect(config.address, &config.name, &config.trust).await?;
    tracing::info!(address = %config.address, "connected");
    let hello =
        Hello { token: config.token.clone(), max_bitrate: config.max_bitrate, decoder: config.decoder };
    let outcome = session::run(&link, hello, config.fetch_model, player).await;
    (*alone, *pause) = (Instant::now(), FIRST_PAUSE);
    link.settle().await;
    outcome
}
