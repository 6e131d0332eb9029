//! A broadcast: a source, and a feed for each receiver that comes.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Close, Code, Offer};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::admission::{self, Admission};
use crate::error::Error;
use crate::feed::{self, DONE, Shared};
use crate::feedback::Feedback;
use crate::frames::{self, Frames, Outlet};
use crate::identity::Identity;
use crate::places::Places;
use crate::quic::{Handshake, Listener, Socket};
use crate::source::{FrameSource, SourceError};
use crate::statistics::{Counters, Statistics};
use crate::unadmitted::Ticket;

/// How long receivers have, after the last frame, to take what is left of it.
const LAST_FRAME_TIMEOUT: Duration = Duration::from_millis(500);

/// How to broadcast.
#[derive(Debug)]
pub struct Config {
    /// Where receivers find it.
    pub listen: SocketAddr,
    /// Its certificate.
    pub identity: Identity,
    /// What receivers must know; nothing lets everyone in.
    pub token: Option<Bytes>,
    /// Most receivers at once.
    pub max_receivers: usize,
    /// Most receivers at once at one address (of IPv6: in one network of 64 bits).
    pub max_receivers_per_address: usize,
    /// Where to write a qlog file of each connection, if anywhere.
    #[cfg(feature = "qlog")]
    pub qlog: Option<std::path::PathBuf>,
    /// When receivers are asked to acknowledge.
    pub acknowledge: Acknowledge,
}

/// When a receiver is asked to acknowledge (draft-ietf-quic-ack-frequency).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledge {
    /// When so many packets came,
    pub packets: u32,
    /// or the first of them so long ago.
    pub within: Duration,
}

impl Default for Acknowledge {
    /// Few acknowledgements cost little, and late ones would be taken for a queue.
    fn default() -> Self {
        Self { packets: 4, within: Duration::from_millis(4) }
    }
}

impl Config {
    /// For everyone who comes, at most 1000 receivers at once and 250 at one address.
    #[must_use]
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self {
            listen,
            identity,
            token: None,
            max_receivers: 1000,
            max_receivers_per_address: 250,
            #[cfg(feature = "qlog")]
            qlog: None,
            acknowledge: Acknowledge::default(),
        }
    }
}

/// A broadcast that listens already.
#[derive(Debug)]
pub struct Broadcast<S> {
    listener: Listener,
    source: S,
    shared: Arc<Shared>,
}

/// Reads the figures of a broadcast that runs.
#[derive(Debug, Clone)]
pub struct Monitor(pub(crate) Arc<Counters>);

impl Monitor {
    /// The figures of now.
    #[must_use]
    pub fn read(&self) -> Statistics {
        self.0.read()
    }
}

impl<S: FrameSource> Broadcast<S> {
    /// Listens; no frame is asked for yet. Call it within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address cannot be had, [`Error::KeyMismatch`] or [`Error::Tls`] if the identity cannot be used.
    pub fn listen(config: Config, source: S) -> Result<Self, Error> {
        let socket = Socket::bind(config.listen)?;
        Self::over(socket, config, source)
    }

    /// Listens on `socket` in place of [`Config::listen`]. Call it within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] or [`Error::Tls`] if the identity cannot be used, [`Error::Listen`] if the socket cannot be.
    pub fn over(socket: Socket, config: Config, source: S) -> Result<Self, Error> {
        let Config { identity, token, max_receivers, max_receivers_per_address, acknowledge, .. } = config;
        let listener = Listener::new(socket, identity, acknowledge)?;
        #[cfg(feature = "qlog")]
        let listener = listener.with_qlog(config.qlog);
        let (welcome, package) = (source.welcome(), source.package());
        let counters: Arc<Counters> = Arc::default();
        let shared = Shared {
            offer: Arc::new(Offer { welcome, package, token }),
            feedback: Feedback::new(Arc::clone(&counters)),
            counters,
            places: Arc::new(Places::new(max_receivers, max_receivers_per_address)),
            end: OnceLock::new(),
            cut_off: watch::Sender::new(false),
        };
        Ok(Self { listener, source, shared: Arc::new(shared) })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Reads its figures while it runs and after.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.shared.counters))
    }

    /// Broadcasts until the source ends or `shutdown` is ready; then the frame in flight is finished and receivers are
    /// told.
    ///
    /// # Errors
    /// [`Error::Source`] if the source has no more frames before it ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, source, shared } = self;
        let mut admission = Admission::new(listener, Arc::clone(&shared.counters));
        let (outlet, frames) = frames::channel(shared.offer.welcome.interval());
        let (stop, stopped) = oneshot::channel();
        let mut source_task = JoinSet::new();
        source_task.spawn(hand_out(source, outlet, Arc::clone(&shared), stopped));
        let mut feeds = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut number = 0;
        loop {
            // In this order, so that in virtual time every run is the same.
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = frames.clone().ended() => break,
                Some(ended) = feeds.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!("a receiver's feed failed, please report this: {error}");
                    }
                }
                begun = admission.next() => {
                    let Some((handshake, ticket)) = begun else { break };
                    number += 1;
                    feeds.spawn(serve(handshake, ticket, number, Arc::clone(&shared), frames.clone()));
                }
            }
        }
        drop(frames);
        // A source that ended on its own does not hear it.
        let _ = stop.send(());
        let outcome = match source_task.join_next().await {
            Some(ended) => ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => Ok(()),
        };
        if timeout(LAST_FRAME_TIMEOUT, ended(&mut feeds)).await.is_err() {
            shared.cut_off.send_replace(true);
            ended(&mut feeds).await;
        }
        admission.close(shared.end()).await;
        Ok(outcome?)
    }
}

/// Hands the frames of a source to all feeds until it ends or is stopped, and notes what receivers are told then.
async fn hand_out(
    mut source: impl FrameSource,
    outlet: Outlet,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), SourceError> {
    loop {
        let next = tokio::select! {
            // A source that always has a frame keeps nobody from stopping it.
            biased;
            _ = &mut stopped => break,
            next = source.next(&shared.feedback) => next,
        };
        match next {
            Ok(Some(frame)) => outlet.put(&shared.counters, frame),
            Ok(None) => {
                let _ = shared.end.set(DONE);
                return Ok(());
            }
            Err(error) => {
                let _ = shared.end.set(told(&error, &shared.counters));
                return Err(error);
            }
        }
    }
    // A source that breaks off from now on, as a pipe does whose writer was stopped too, is no failure.
    let _ = shared.end.set(DONE);
    source.stop();
    // The frame that is being made still goes out, if it comes soon.
    let soon = shared.offer.welcome.interval().min(LAST_FRAME_TIMEOUT);
    if let Ok(Ok(Some(frame))) = timeout(soon, source.next(&shared.feedback)).await {
        outlet.put(&shared.counters, frame);
    }
    Ok(())
}

/// What receivers are told of a source's failure.
fn told(error: &SourceError, counters: &Counters) -> Close {
    match error {
        SourceError::BrokenOff(_) => {
            Counters::add(&counters.source_failures, 1);
            Close { code: Code::Source, why: "the source broke off" }
        }
        SourceError::Failed(_) => Close { code: Code::Failed, why: "a frame could not be made" },
    }
}

/// Waits until all feeds ended.
async fn ended(feeds: &mut JoinSet<()>) {
    while feeds.join_next().await.is_some() {}
}

/// One peer, from its handshake on.
async fn serve(handshake: Handshake, ticket: Ticket, number: u64, shared: Arc<Shared>, frames: Frames) {
    let mut time_is_up = Box::pin(admission::time_is_up(ticket));
    let performed = tokio::select! {
        performed = handshake.perform() => performed.map_err(|error| error.to_string()),
        close = &mut time_is_up => Err(close.to_string()),
        () = shared.is_cut_off() => return,
    };
    match performed {
        Ok(connection) => feed::run(connection, time_is_up, number, shared, frames).await,
        Err(error) => {
            shared.counters.refuse("handshake");
            tracing::debug!("handshake failed: {error}");
        }
    }
}

/// What receivers are told to connect to: of an address that stands for all of a machine's, the port alone is known.
///
/// ```
/// use nestcast_sender::place_of;
///
/// assert_eq!(place_of(([127, 0, 0, 1], 4433).into()), "127.0.0.1:4433");
/// assert_eq!(place_of(([0_u16; 8], 4433).into()), "HOST:4433");
/// ```
#[must_use]
pub fn place_of(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("HOST:{}", address.port()) } else { address.to_string() }
}
