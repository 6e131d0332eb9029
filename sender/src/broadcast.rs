//! A broadcast: a source, and a feed for each receiver that comes.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nestcast_proto::{BroadcastFrame, Close, Code, Demand, DemandEntry, Offer, SourceError};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Config;
use crate::door::admission::{self, Admission};
use crate::door::places::Places;
use crate::door::unadmitted::Ticket;
use crate::error::Error;
use crate::feed;
use crate::figures::monitor::Monitor;
use crate::figures::statistics::Counters;
use crate::frames::fanout::{FrameFanout, FrameReceiver};
use crate::frames::source::FrameSource;
use crate::quic::browser::BrowserConnection;
use crate::quic::endpoint::{Client, Handshake, Listener, Socket};
use crate::rotation::{BrowserCertificate, Rotation};
use crate::shared::{DONE, Shared};

/// How long receivers have, after the last frame, to take what is left of it.
const LAST_FRAME_TIMEOUT: Duration = Duration::from_millis(500);

/// A broadcast that listens already.
#[derive(Debug)]
pub struct Broadcast<S> {
    listener: Listener,
    rotation: Rotation,
    source: S,
    fanout: FrameFanout,
    /// Keeps its place while nobody else has one.
    frames: FrameReceiver,
    shared: Arc<Shared>,
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
        let Config { identity, token, max_receivers, max_receivers_per_address, acknowledge, browsers, .. } = config;
        let listener = Listener::new(socket, identity, acknowledge, browsers.is_some())?;
        let rotation = Rotation::new(listener.certificates(), browsers.as_ref())?;
        #[cfg(feature = "qlog")]
        let listener = listener.with_qlog(config.qlog);
        let welcome = source.welcome();
        let package = source.package();
        let (counters, interval): (Arc<Counters>, _) = (Arc::default(), welcome.interval());
        let shared = Shared {
            offer: Arc::new(Offer { welcome, package, token }),
            demand: Demand::default(),
            counters,
            places: Arc::new(Places::new(max_receivers, max_receivers_per_address)),
            end: OnceLock::new(),
            cut_off: watch::Sender::new(false),
            origins: browsers.map(|browsers| browsers.origins).unwrap_or_default(),
        };
        let fanout = FrameFanout::new(interval);
        let frames = fanout.subscribe();
        Ok(Self { listener, rotation, source, fanout, frames, shared: Arc::new(shared) })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Reads which certificate browsers are shown, while the broadcast runs and after.
    #[must_use]
    pub fn browser_certificate(&self) -> BrowserCertificate {
        self.rotation.certificate()
    }

    /// Reads its figures while it runs and after.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.shared.counters))
    }

    /// Subscribes a consumer beside the receivers, say a recorder or a relay: it gets every frame that they do, from the newest one on, until
    /// the broadcast ends. Clones of it subscribe more while the broadcast runs.
    #[must_use]
    pub fn frames(&self) -> FrameReceiver {
        self.frames.clone()
    }

    /// What the source is told of its receivers. A consumer of [`frames`](Self::frames) that wants its frames made for it, too,
    /// [registers](Demand::register) and states what it wants after each.
    #[must_use]
    pub fn demand(&self) -> Demand {
        self.shared.demand.clone()
    }

    /// Broadcasts until the source ends or `shutdown` is ready; then the frame in flight is finished and receivers are
    /// told.
    ///
    /// # Errors
    /// [`Error::Source`] if the source has no more frames before it ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, rotation, source, fanout, frames, shared } = self;
        let mut rotation = std::pin::pin!(rotation.run());
        let mut admission = Admission::new(listener, Arc::clone(&shared.counters));
        let (stop, stopped) = oneshot::channel();
        let mut source_task = JoinSet::new();
        source_task.spawn(hand_out(source, fanout, Arc::clone(&shared), stopped));
        let mut feeds = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            // In this order, so that in virtual time every run is the same.
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = frames.clone().ended() => break,
                never = &mut rotation => match never {},
                Some(ended) = feeds.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!("a receiver's feed failed, please report this: {error}");
                    }
                }
                begun = admission.next() => {
                    let Some((handshake, ticket)) = begun else { break };
                    let entry = shared.demand.register();
                    feeds.spawn(serve(handshake, ticket, entry, Arc::clone(&shared), frames.clone()));
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

/// Hands the frames of a source to all who subscribed until it ends or is stopped, and notes what receivers are told then.
async fn hand_out(
    mut source: impl FrameSource,
    fanout: FrameFanout,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), SourceError> {
    let hand_on = |frame: BroadcastFrame| {
        shared.counters.handle_frame(&frame);
        fanout.send(frame);
    };
    loop {
        let next = tokio::select! {
            // A source that always has a frame keeps nobody from stopping it.
            biased;
            _ = &mut stopped => break,
            next = source.next(&shared.demand) => next,
        };
        match next {
            Ok(Some(frame)) => hand_on(frame),
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
    if let Ok(Ok(Some(frame))) = timeout(soon, source.next(&shared.demand)).await {
        hand_on(frame);
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
async fn serve(handshake: Handshake, ticket: Ticket, entry: DemandEntry, shared: Arc<Shared>, frames: FrameReceiver) {
    let mut time_is_up = Box::pin(admission::time_is_up(ticket));
    let performed = tokio::select! {
        performed = handshake.perform() => performed.map_err(|error| error.to_string()),
        close = &mut time_is_up => Err(close.to_string()),
        () = shared.is_cut_off() => return,
    };
    let refuse = |error: &str| {
        shared.counters.refuse("handshake");
        tracing::debug!("handshake failed: {error}");
    };
    let browser = match performed {
        Ok(Client::Receiver(connection)) => return feed::run(connection, time_is_up, entry, shared, frames).await,
        Ok(Client::Browser(browser)) => browser,
        Err(error) => return refuse(&error),
    };
    let accepted = tokio::select! {
        accepted = BrowserConnection::accept(browser, &shared.origins, &mut time_is_up) => accepted,
        () = shared.is_cut_off() => return,
    };
    match accepted {
        Ok(connection) => feed::run(connection, time_is_up, entry, Arc::clone(&shared), frames).await,
        Err(error) => refuse(&error.to_string()),
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
