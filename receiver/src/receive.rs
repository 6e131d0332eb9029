//! Reception over one connection after another, until the broadcast or the receiver ends.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use nestcast_proto::{Close, Code, Hello, MAX_TOKEN, Start, VersionRange};

use crate::config::ReceiverConfig;
use crate::error::Error;
use crate::quic::{QuicConnection, ReceiverSocket};
use crate::race::Dialer;
use crate::retry::Retry;
use crate::search::search;
use crate::seek::Place;
use crate::session::{self, Ended};
use crate::sink::FrameSink;
use crate::start;
use crate::token_file::CurrentToken;
use crate::transport::Connection as _;

/// Receives until the broadcast ends, `shutdown` is ready, or a connection ended and no frame was useful for
/// [`ReceiverConfig::retry`]. Tells the sender of a shutdown.
///
/// # Errors
/// Why it cannot continue.
pub async fn receive<S: FrameSink>(
    config: ReceiverConfig,
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
    socket: ReceiverSocket,
    config: ReceiverConfig,
    sink: &mut S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    connections(&config, Some(socket), sink, std::pin::pin!(shutdown)).await
}

async fn connections<S: FrameSink>(
    config: &ReceiverConfig,
    socket: Option<ReceiverSocket>,
    sink: &mut S,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    if config.token.len() > MAX_TOKEN {
        return Err(Error::TokenTooLong(config.token.len()));
    }
    let mut reception = Reception::new(config, socket);
    loop {
        let connected = tokio::select! {
            biased;
            connected = reception.connect() => connected,
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        };
        let (error, useful) = match connected {
            Ok(connection) => match reception.run(&connection, sink, shutdown.as_mut()).await {
                Left::ForGood => return Ok(()),
                Left::ToSeek => continue,
                Left::Ended(ended) => {
                    sink.handle_disconnection();
                    if matches!(ended.error, Error::Closed(Code::Done)) && !config.wait {
                        return Ok(());
                    }
                    reception.handle_end(ended, sink)
                }
            },
            Err(error) => {
                // After a connection that the receiver left to go elsewhere, this is the first that the sink hears of it.
                sink.handle_disconnection();
                (error, None)
            }
        };
        let pause = reception.pause(error, useful)?;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        }
    }
}

/// What stays from one connection to the next.
struct Reception<'a> {
    config: &'a ReceiverConfig,
    dialer: Dialer,
    token: CurrentToken,
    retry: Retry,
    /// Where the next connection begins.
    begins: Option<Start>,
    /// Whether the sender was silent when the last connection or attempt ended.
    was_silent: bool,
}

impl<'a> Reception<'a> {
    fn new(config: &'a ReceiverConfig, socket: Option<ReceiverSocket>) -> Self {
        let dialer = Dialer::new(config.clone(), socket);
        let token = CurrentToken::new(config.token.clone(), config.token_file.clone());
        let retry = new_retry(config);
        Self { config, dialer, token, retry, begins: config.start, was_silent: false }
    }

    /// Returns whether it makes one attempt to connect next to another.
    fn searches(&self) -> bool {
        self.was_silent && self.dialer.may_overlap()
    }

    /// Makes one attempt, or one next to another if the sender was silent.
    async fn connect(&mut self) -> Result<QuicConnection, Error> {
        if self.searches() {
            return search(&self.dialer, &mut self.retry).await;
        }
        self.dialer.connect(self.retry.attempt_time()).await
    }

    /// Runs a connection to its end.
    async fn run<S: FrameSink>(
        &mut self,
        connection: &QuicConnection,
        sink: &mut S,
        shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> Left {
        tracing::info!(address = %connection.address(), "connected");
        self.dialer.handle_connected(connection.address());
        self.was_silent = false;
        sink.handle_connection();
        // A request before the receiver is connected needs no other connection.
        if let Some(begins) = self.config.seek.take(&Place::new(self.begins)) {
            self.go_to(begins);
        }
        let start = self.begins.filter(|_| !self.config.seek.stays_live());
        let ReceiverConfig { max_bitrate, decoder, broadcast, .. } = self.config.clone();
        let mut shutdown = shutdown;
        // A file on another machine may not answer.
        let Some(token) = unless(shutdown.as_mut(), self.token.read()).await else {
            connection.close(Close { code: Code::Done, why: "the receiver leaves" });
            return Left::ForGood;
        };
        let hello = Hello { versions: VersionRange::SPOKEN, token, max_bitrate, decoder, broadcast, start };
        let place = Place::new(start);
        let left = tokio::select! {
            biased;
            () = shutdown.as_mut() => Left::ForGood,
            begins = self.config.seek.requested(&place) => {
                self.go_to(begins);
                self.retry = new_retry(self.config);
                Left::ToSeek
            }
            mut ended = session::run(connection, hello, self.config.fetch_model, &place, sink) => {
                if matches!(ended.error, Error::Closed(Code::NoBroadcast)) && self.config.broadcast.is_empty() {
                    ended.error = Error::NameNeeded;
                }
                Left::Ended(ended)
            }
        };
        if !matches!(left, Left::Ended(_)) {
            connection.close(Close { code: Code::Done, why: "the receiver leaves" });
        }
        // The next connection over a socket that both share would miss what the old one reads.
        if !matches!(left, Left::ToSeek) || !self.dialer.may_overlap() {
            connection.settle().await;
        }
        left
    }

    /// Lets the next connection begin elsewhere.
    fn go_to(&mut self, begins: Option<Start>) {
        match begins {
            Some(_) => tracing::info!("going elsewhere"),
            None => tracing::info!("going to the live edge"),
        }
        self.begins = begins;
    }

    /// Decides where the next connection begins. Returns why this one ended, and how long its frames were useful.
    fn handle_end<S: FrameSink>(&mut self, ended: Ended, sink: &S) -> (Error, Option<Duration>) {
        let Ended { error, handed_over, began } = ended;
        let is_done = matches!(error, Error::Closed(Code::Done));
        if is_done {
            self.retry = new_retry(self.config);
        }
        // The next broadcast begins anew. After a source that breaks off at once, pauses grow.
        let is_over = is_done || matches!(error, Error::Closed(Code::Source));
        let anew = self.config.start.filter(|_| !self.config.seek.stays_live());
        self.begins = if is_over { anew } else { start::next(self.begins, began, handed_over) };
        (error, sink.useful_for(handed_over).filter(|_| !is_done))
    }

    /// Returns the pause before the next attempt, and says why there is one.
    ///
    /// # Errors
    /// If there is none: the error would come again, or the time is over.
    fn pause(&mut self, error: Error, useful: Option<Duration>) -> Result<Duration, Error> {
        let ReceiverConfig { wait, token_file, .. } = self.config;
        let goes_on = if *wait { error.may_wait(token_file.is_some()) } else { error.may_retry() };
        if !goes_on {
            return Err(error);
        }
        let was_searched = std::mem::replace(&mut self.was_silent, error.is_silence()) && self.searches();
        // A search has ended with silence only because its time is over.
        let pause = if was_searched { None } else { self.retry.next(useful, fastrand::f64()) };
        let Some(pause) = pause else { return Err(given_up(error, &self.retry)) };
        if matches!(error, Error::Closed(Code::Done)) {
            tracing::warn!("the broadcast ended; waiting for the next");
        } else {
            let is_news = self.retry.reminder().is_some() || !*wait || self.retry.spent().0 <= 1;
            say_again(&error, pause, !is_news);
        }
        Ok(pause)
    }
}

/// Returns what `work` gives, or `None` if `end` comes first.
async fn unless<T>(end: Pin<&mut impl Future<Output = ()>>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = end => None,
    }
}

fn new_retry(config: &ReceiverConfig) -> Retry {
    Retry::new(if config.wait { Duration::MAX } else { config.retry })
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
    /// It was asked to go elsewhere.
    ToSeek,
    /// The connection ended.
    Ended(Ended),
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use bytes::Bytes;
    use nestcast_proto::{ReceiveStats, ReceivedFrame};

    use super::*;
    use crate::trust::Trust;

    /// A sink that gets no frame.
    struct Idle;

    impl FrameSink for Idle {
        type Error = Infallible;

        fn handle_frame(&mut self, _frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
            panic!("nobody sends")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_is_too_long_is_refused_before_the_receiver_connects() {
        let trust = Trust::fingerprint(&"00".repeat(32)).expect("64 digits");
        let nobody = ReceiverConfig::new(([127, 0, 0, 1], 9).into(), trust);
        for (length, is_refused) in [(MAX_TOKEN, false), (MAX_TOKEN + 1, true)] {
            let config = ReceiverConfig { token: Bytes::from(vec![b'x'; length]), ..nobody.clone() };
            let error = receive(config, &mut Idle, pending()).await.expect_err("nobody is there");
            assert_eq!(matches!(error, Error::TokenTooLong(_)), is_refused, "{error}");
        }
    }
}
