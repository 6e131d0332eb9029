//! Reception over one connection after another, until the broadcast or the receiver ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Close, Code, Hello, Start, VersionRange};

use crate::config::Config;
use crate::error::Error;
use crate::quic::{QuicConnection, Socket};
use crate::race::Dialer;
use crate::retry::Retry;
use crate::search::search;
use crate::session::{self, Ended};
use crate::sink::FrameSink;
use crate::start;
use crate::token_file::CurrentToken;
use crate::transport::Connection as _;

/// Receives until the broadcast ends, `shutdown` is ready, or a connection ended and no frame was useful for
/// [`Config::retry`]. Tells the sender of a shutdown.
///
/// # Errors
/// Why it cannot continue.
pub async fn receive<S: FrameSink>(
    config: Config,
    sink: &mut S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    connections(&config, None, sink, std::pin::pin!(shutdown)).await
}

/// Like [`receive`], over `socket`.
///
/// # Errors
/// See [`receive`].
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
    let new_retry = || Retry::new(if config.wait { Duration::MAX } else { config.retry });
    let is_shared = socket.as_ref().is_some_and(Socket::is_shared);
    let mut dialer = Dialer::new(config.clone(), socket);
    let mut token = CurrentToken::new(config);
    let mut retry = new_retry();
    let mut begins = config.start;
    let mut went_live = false;
    let mut was_silent = false;
    loop {
        let searches = was_silent && dialer.may_overlap();
        let connected = tokio::select! {
            biased;
            connected = connect(&dialer, &mut retry, searches) => connected,
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        };
        let (error, useful) = match connected {
            Ok(connection) => {
                dialer.handle_connected(connection.address());
                sink.handle_connection();
                // A request before the receiver is connected needs no other connection.
                went_live |= config.go_live.take();
                let start = begins.filter(|_| !went_live);
                let hello = hello(config, token.read().await, start);
                let left = run_connection(config, hello, &mut went_live, sink, &connection, shutdown.as_mut()).await;
                // The next connection over a socket that both share would miss what the old one reads.
                if !matches!(left, Left::ToGoLive) || is_shared {
                    connection.settle().await;
                }
                match left {
                    Left::ForGood => return Ok(()),
                    Left::ToGoLive => {
                        tracing::info!("going to the live edge");
                        retry = new_retry();
                        continue;
                    }
                    Left::Ended(Ended { error: Error::Closed(Code::Done), .. }) if !config.wait => return Ok(()),
                    Left::Ended(Ended { error: error @ Error::Closed(Code::Done), .. }) => {
                        retry = new_retry();
                        begins = config.start;
                        (error, None)
                    }
                    // The next broadcast begins anew. A source that breaks off at once is tried less and less often.
                    Left::Ended(Ended { error: error @ Error::Closed(Code::Source), handed_over, .. }) => {
                        begins = config.start;
                        (error, sink.useful_for(handed_over))
                    }
                    Left::Ended(Ended { error, handed_over, began }) => {
                        begins = start::next(begins, began, handed_over);
                        (error, sink.useful_for(handed_over))
                    }
                }
            }
            Err(error) if searches && error.is_silence() => return Err(given_up(error, &retry)),
            Err(error) => (error, None),
        };
        let goes_on = if config.wait { error.may_wait(config.token_file.is_some()) } else { error.may_retry() };
        if !goes_on {
            return Err(error);
        }
        was_silent = error.is_silence();
        let Some(pause) = retry.next(useful, fastrand::f64()) else { return Err(given_up(error, &retry)) };
        if matches!(error, Error::Closed(Code::Done)) {
            tracing::warn!("the broadcast ended; waiting for the next");
        } else {
            say_again(&error, pause, config.wait && retry.spent().0 > 1);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        }
    }
}

/// Makes one attempt, or one beside another if the sender was silent.
async fn connect(dialer: &Dialer, retry: &mut Retry, searches: bool) -> Result<QuicConnection, Error> {
    if searches { search(dialer, retry).await } else { dialer.connect(retry.attempt_time()).await }
}

fn hello(config: &Config, token: Bytes, start: Option<Start>) -> Hello {
    let Config { max_bitrate, decoder, broadcast, .. } = config.clone();
    Hello { versions: VersionRange::SPOKEN, token, max_bitrate, decoder, broadcast, start }
}

/// Says when the next attempt comes; quietly if it was said before.
fn say_again(error: &Error, pause: Duration, was_said: bool) {
    let milliseconds = pause.as_millis();
    if was_said {
        tracing::info!("{error}; trying again in {milliseconds} ms");
    } else {
        tracing::warn!("{error}; trying again in {milliseconds} ms");
    }
}

fn given_up(last: Error, retry: &Retry) -> Error {
    match retry.spent() {
        (1, _) => last,
        (attempts, time) => Error::GaveUp { last: Box::new(last), attempts, time },
    }
}

/// Why a connection is over.
enum Left {
    /// The receiver shuts down.
    ForGood,
    /// It was asked to go where all others are.
    ToGoLive,
    /// The connection ended.
    Ended(Ended),
}

/// Runs one connection that begins with `hello`. Notes in `went_live` if it is asked to go where all others are.
async fn run_connection<S: FrameSink>(
    config: &Config,
    hello: Hello,
    went_live: &mut bool,
    sink: &mut S,
    connection: &QuicConnection,
    shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Left {
    tracing::info!(address = %connection.address(), "connected");
    let is_live = AtomicBool::new(hello.start.is_none());
    let left = tokio::select! {
        biased;
        () = shutdown => Left::ForGood,
        () = config.go_live.requested(&is_live, went_live) => Left::ToGoLive,
        ended = session::run(connection, hello, config.fetch_model, &is_live, sink) => Left::Ended(ended),
    };
    if !matches!(left, Left::Ended(_)) {
        connection.close(Close { code: Code::Done, why: "the receiver leaves" });
    }
    left
}
