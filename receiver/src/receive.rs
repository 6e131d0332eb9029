//! Connection after connection, until the broadcast or the receiver ends.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, Close, Code, DecoderKind, Hello};

use crate::error::Error;
use crate::player::Player;
use crate::quic::QuicConnection;
use crate::retry::Retry;
use crate::session;
use crate::transport::Connection as _;
use crate::trust::Trust;
use crate::view::Viewer;

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
    /// How long to try again while no picture comes, at the start and later; zero: one attempt.
    pub retry: Duration,
}

/// Receives until the broadcast ends, `shutdown` is ready, or no picture came for [`Config::retry`] and the connection
/// ended. The sender is told of a shutdown.
///
/// # Errors
/// Why it cannot go on.
pub async fn receive(config: Config, viewer: impl Viewer, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let (player, thread) = Player::start(viewer);
    let outcome = connections(&config, &player, std::pin::pin!(shutdown)).await;
    // What the viewer says is nearer to the cause than what the connection does.
    player.finish(thread).await.and(outcome)
}

async fn connections<S: Future<Output = ()>>(
    config: &Config,
    player: &Player,
    mut shutdown: Pin<&mut S>,
) -> Result<(), Error> {
    let mut retry = Retry::new(config.retry);
    loop {
        let ended = tokio::select! {
            connection = QuicConnection::connect(config.address, &config.name, &config.trust) => connection,
            () = &mut shutdown => return Ok(()),
        };
        let (ended, pictures) = match ended {
            Ok(connection) => {
                player.connected();
                (run_connection(config, player, &connection, shutdown.as_mut()).await, player.pictures())
            }
            Err(error) => (Err(error), None),
        };
        let error = match ended {
            Ok(()) | Err(Error::Closed(Code::Done)) => return Ok(()),
            Err(error) => error,
        };
        if !error.may_retry() {
            return Err(error);
        }
        let Some(pause) = retry.next(pictures, fastrand::f64()) else { return Err(given_up(error, &retry)) };
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut shutdown => return Ok(()),
            error = player.ended() => return Err(error),
        }
    }
}

fn given_up(last: Error, retry: &Retry) -> Error {
    match retry.spent() {
        (1, _) => last,
        (attempts, time) => Error::GaveUp { last: Box::new(last), attempts, time },
    }
}

/// Ends well only by a shutdown.
async fn run_connection(
    config: &Config,
    player: &Player,
    connection: &QuicConnection,
    shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    tracing::info!(address = %config.address, "connected");
    let Config { token, max_bitrate, decoder, .. } = config.clone();
    let outcome = tokio::select! {
        outcome = session::run(connection, Hello { token, max_bitrate, decoder }, config.fetch_model, player) => outcome,
        () = shutdown => {
            connection.close(Close { code: Code::Done, why: "the receiver leaves" });
            Ok(())
        }
    };
    connection.settle().await;
    outcome
}
