//! A broadcast: a source, and a feed for each receiver.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nestcast_proto::{
    Archive, Bitrate, BroadcastFrame, BroadcastName, Close, Code, Demand, DemandEntry, Offer, Sound, SourceError,
    Welcome,
};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::access::Authorizer;
use crate::config::SenderConfig;
use crate::directory::{Directory, MAX_REWOUND};
use crate::door::admission::{self, Admission};
use crate::door::half_open::SlotGuard;
use crate::door::slots::Slots;
use crate::error::Error;
use crate::feed;
use crate::figures::monitor::Monitor;
use crate::figures::statistics::Counters;
use crate::frames::fanout::{FrameFanout, FrameReceiver};
use crate::frames::recorded_frames::RecordedFrames;
use crate::frames::rewind::{self, Rewindable};
use crate::frames::rewind_store::RewindStore;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource;
use crate::frames::source_check::{FrameCheck, check_welcome};
use crate::quic::browser::BrowserConnection;
use crate::quic::endpoint::{Client, Handshake, Listener, SenderSocket};
use crate::rotation::{BrowserCertificate, Rotation};
use crate::shared::{BROADCAST_DONE, Elsewhere, Shared, Station};

/// The time that receivers have, after the last frame, to receive the rest of it.
const LAST_FRAME_TIMEOUT: Duration = Duration::from_millis(500);

/// A broadcast that listens.
pub struct Broadcast<S> {
    listener: Listener,
    rotation: Rotation,
    source: S,
    fanout: FrameFanout,
    /// Keeps the fan-out open before the first receiver connects.
    frames: FrameReceiver,
    shared: Arc<Shared>,
    name: BroadcastName,
    others: BTreeMap<BroadcastName, Other>,
    /// How far back receivers may begin.
    rewind: Option<Duration>,
}

/// Another broadcast at the same address.
struct Other {
    station: Station,
    hand_out: HandOut,
}

/// Hands out the frames of a broadcast until its source ends, or until a message asks it to stop.
type HandOut = Box<dyn FnOnce(oneshot::Receiver<()>) -> Ended + Send>;
type Ended = Pin<Box<dyn Future<Output = Result<(), SourceError>> + Send>>;

impl<S: std::fmt::Debug> std::fmt::Debug for Broadcast<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broadcast").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<S: FrameSource> Broadcast<S> {
    /// Listens, and does not ask the source for a frame yet. Call it within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address cannot be bound or this is called outside a runtime, [`Error::KeyMismatch`] or
    /// [`Error::Tls`] if the identity is unusable, [`Error::Welcome`] if receivers would refuse the source's welcome.
    ///
    /// # Panics
    /// If the runtime has no I/O or no time: call `enable_all` where you build it.
    pub fn listen(config: SenderConfig, source: S) -> Result<Self, Error> {
        let socket = SenderSocket::bind(config.listen)?;
        Self::over(socket, config, source)
    }

    /// Listens on `socket` in place of [`SenderConfig::listen`]. Call it within a tokio runtime.
    ///
    /// # Errors
    /// See [`listen`](Self::listen).
    pub fn over(socket: SenderSocket, config: SenderConfig, mut source: S) -> Result<Self, Error> {
        let SenderConfig {
            identity,
            authorizers,
            max_receivers,
            max_receivers_per_address,
            max_bitrate,
            acknowledge,
            sound,
            rewind,
            browsers,
            ..
        } = config;
        accept(&source.welcome())?;
        let listener = Listener::new(socket, identity, acknowledge, browsers.is_some())?;
        let rotation = Rotation::new(listener.certificates(), browsers.as_ref())?;
        #[cfg(feature = "qlog")]
        let listener = listener.with_qlog(config.qlog);
        let common = Common {
            authorizers,
            max_bitrate,
            slots: Arc::new(Slots::new(max_receivers, max_receivers_per_address)),
            origins: browsers.map(|browsers| browsers.origins).unwrap_or_default(),
            rewind,
        };
        let (shared, fanout) = share(&mut source, sound, common);
        let frames = fanout.subscribe();
        let (name, others) = (BroadcastName::default(), BTreeMap::new());
        Ok(Self { listener, rotation, source, fanout, frames, shared, name, others, rewind })
    }

    /// Gives the broadcast a name. Receivers must then ask for it.
    #[must_use]
    pub fn named(mut self, name: BroadcastName) -> Self {
        self.name = name;
        self
    }

    /// Broadcasts another source at the same address, for receivers that ask for `name`. It has the same authorizers, limits
    /// and places, the source's own sound, and ends when its source does; [`run`](Self::run) goes on until all have ended. A
    /// name that is taken already replaces the broadcast that had it. If the first broadcast has it, `run` refuses.
    #[must_use]
    pub fn with_source(mut self, name: BroadcastName, mut source: impl FrameSource) -> Self {
        let first = &self.shared;
        let common = Common {
            authorizers: first.authorizers.clone(),
            max_bitrate: first.max_bitrate,
            slots: Arc::clone(&first.slots),
            origins: first.origins.clone(),
            rewind: self.rewind,
        };
        let (shared, fanout) = share(&mut source, None, common);
        let station = Station { shared: Arc::clone(&shared), frames: fanout.subscribe() };
        let hand_out: HandOut = Box::new(move |stopped| Box::pin(hand_out(source, fanout, shared, stopped)));
        self.others.insert(name, Other { station, hand_out });
        self
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Returns a handle that reads which certificate browsers get, while the broadcast runs and after.
    #[must_use]
    pub fn browser_certificate(&self) -> BrowserCertificate {
        self.rotation.certificate()
    }

    /// Returns a handle that reads the broadcast's figures, while it runs and after.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.shared.counters))
    }

    /// Returns handles that read the figures of all broadcasts at this address, by name. Peers that are turned away before
    /// they ask for a broadcast count for the first one.
    #[must_use]
    pub fn monitors(&self) -> BTreeMap<BroadcastName, Monitor> {
        let others =
            self.others.iter().map(|(name, it)| (name.clone(), Monitor(Arc::clone(&it.station.shared.counters))));
        others.chain([(self.name.clone(), self.monitor())]).collect()
    }

    /// Returns all broadcasts at this address, by name, as local consumers such as recorders and relays see them.
    #[must_use]
    pub fn stations(&self) -> BTreeMap<BroadcastName, Station> {
        let others = self.others.iter().map(|(name, it)| (name.clone(), it.station.clone()));
        others.chain([(self.name.clone(), self.station())]).collect()
    }

    /// Returns the broadcast of the first source, as local consumers see it.
    #[must_use]
    pub fn station(&self) -> Station {
        Station { shared: Arc::clone(&self.shared), frames: self.frames.clone() }
    }

    /// Does what [`Station::frames`] does, for the first source.
    #[must_use]
    pub fn frames(&self) -> FrameReceiver {
        self.frames.clone()
    }

    /// Does what [`Station::recorded_frames`] does, for the first source.
    #[must_use]
    pub fn recorded_frames(&self) -> RecordedFrames {
        self.station().recorded_frames()
    }

    /// Returns the handle that takes packets of sound for the first source, before the broadcast runs and while it runs,
    /// from any thread. Receivers get them if [`SenderConfig::sound`] announced sound.
    #[must_use]
    pub fn sound(&self) -> SoundFanout {
        self.shared.sound.clone()
    }

    /// Does what [`Station::demand`] does, for the first source.
    #[must_use]
    pub fn demand(&self) -> Demand {
        self.shared.demand.clone()
    }

    /// Broadcasts until the source ends or `shutdown` is ready, then finishes the frame in flight and tells receivers. The
    /// address is free again when this returns, unless it takes over 2 s to close the connections: on paths with a round
    /// trip of more than half a second.
    ///
    /// # Errors
    /// [`Error::Source`] if the source fails before its end, or returns a frame that no receiver accepts;
    /// [`Error::Broadcast`] if one of several with a name does. [`Error::SameName`] or [`Error::Welcome`], at once, if a
    /// source of [`with_source`](Self::with_source) cannot be broadcast.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, rotation, source, fanout, frames, shared, name, others, rewind: _ } = self;
        if others.contains_key(&name) {
            return Err(Error::SameName(name));
        }
        others.values().try_for_each(|other| accept(&other.station.shared.offer.welcome))?;
        let mut rotation = std::pin::pin!(rotation.run());
        let mut admission = Admission::new(listener, Arc::clone(&shared.counters));
        let rewound = Arc::new(Semaphore::new(MAX_REWOUND));
        let mut sources = Sources { tasks: JoinSet::new(), stops: Vec::new(), rewound: Arc::clone(&rewound) };
        let first = Arc::clone(&shared);
        // The error of a broadcast that is alone is what this returns, at once if no receiver watches later.
        let of_several = (!others.is_empty()).then(|| name.clone());
        sources.spawn(of_several, |stopped| hand_out(source, fanout, first, stopped));
        let mut stations = BTreeMap::new();
        for (name, Other { station, hand_out }) in others {
            sources.spawn(Some(name.clone()), hand_out);
            stations.insert(name, station);
        }
        stations.insert(name.clone(), Station { shared: Arc::clone(&shared), frames });
        let directory = Directory { first: name, stations, rewound };
        let directory = Arc::new(directory);
        let mut feeds = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            // The order is fixed (`biased`), so that every run in virtual time is the same.
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = directory.ended() => break,
                never = &mut rotation => match never {},
                Some(ended) = feeds.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!("a receiver's feed failed, please report this: {error}");
                    }
                }
                begun = admission.next() => {
                    let Some((handshake, ticket)) = begun else { break };
                    let entry = shared.demand.register();
                    feeds.spawn(serve(handshake, ticket, entry, Arc::clone(&directory)));
                }
            }
        }
        let outcome = sources.stop().await;
        if timeout(LAST_FRAME_TIMEOUT, ended(&mut feeds)).await.is_err() {
            directory.stations.values().for_each(|station| _ = station.shared.cut_off.send_replace(true));
            ended(&mut feeds).await;
        }
        admission.close(shared.end()).await;
        outcome
    }
}

/// Accepts a source's welcome if receivers do.
fn accept(welcome: &Welcome) -> Result<(), Error> {
    let Welcome { width, height, .. } = *welcome;
    check_welcome(welcome).map_err(|close| Error::Welcome { width, height, why: close.why })
}

/// What all broadcasts at an address have in common.
struct Common {
    authorizers: Vec<Arc<dyn Authorizer>>,
    max_bitrate: Option<Bitrate>,
    slots: Arc<Slots>,
    origins: Vec<String>,
    /// How far back receivers may begin.
    rewind: Option<Duration>,
}

/// Returns what the feeds of a broadcast share, and the fan-out of its frames.
fn share(source: &mut impl FrameSource, sound: Option<Sound>, common: Common) -> (Arc<Shared>, FrameFanout) {
    let (welcome, package) = (source.welcome(), source.package());
    let interval = welcome.interval();
    let sound = sound.or_else(|| source.sound());
    let (fanout, demand, fanout_of_sound) = (FrameFanout::new(interval), Demand::default(), SoundFanout::new());
    let archive = source.archive().or_else(|| {
        let limit = common.rewind.filter(|_| welcome.video.is_some())?;
        let store = Arc::new(RewindStore::new(welcome.clone(), sound, limit));
        rewind::keep(Arc::clone(&store), fanout.subscribe(), fanout_of_sound.subscribe(), demand.register());
        Some(Arc::new(Rewindable(store)) as Arc<dyn Archive>)
    });
    let shared = Shared {
        offer: Arc::new(Offer { welcome, package, sound }),
        authorizers: common.authorizers,
        max_bitrate: common.max_bitrate,
        demand,
        counters: Arc::<Counters>::default(),
        sound: fanout_of_sound,
        slots: common.slots,
        end: OnceLock::new(),
        cut_off: Arc::new(watch::Sender::new(false)),
        origins: common.origins,
        elsewhere: archive.map(Elsewhere::new),
        parent: None,
    };
    source.attach_sound(shared.sound.clone());
    (Arc::new(shared), fanout)
}

/// The tasks that hand out frames.
struct Sources {
    tasks: JoinSet<Result<(), Error>>,
    stops: Vec<oneshot::Sender<()>>,
    /// The places of receivers that begin elsewhere.
    rewound: Arc<Semaphore>,
}

impl Sources {
    /// Hands out the frames of a source. If the broadcast is one of several, given by its name, this logs the source's
    /// failure at once, because the others go on. It also does so if receivers watch later, which get the rest first.
    fn spawn<F>(&mut self, of_several: Option<BroadcastName>, hand_out: impl FnOnce(oneshot::Receiver<()>) -> F)
    where
        F: Future<Output = Result<(), SourceError>> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let handing_out = hand_out(stopped);
        let rewound = Arc::clone(&self.rewound);
        self.tasks.spawn(async move {
            let Err(source) = handing_out.await else { return Ok(()) };
            if let Some(name) = of_several {
                tracing::warn!("the broadcast {name} ended: {source}");
                return Err(if name.is_empty() { source.into() } else { Error::Broadcast { name, source } });
            }
            if rewound.available_permits() < MAX_REWOUND {
                tracing::warn!("the broadcast ended, and receivers that are behind get the rest: {source}");
            }
            Err(source.into())
        });
        self.stops.push(stop);
    }

    /// Stops those that run. Returns the first error of those that failed.
    async fn stop(mut self) -> Result<(), Error> {
        // A source that has ended has dropped its end of the channel.
        self.stops.drain(..).for_each(|stop| _ = stop.send(()));
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            let ended = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            outcome = outcome.and(ended);
        }
        outcome
    }
}

/// Hands a source's frames to all subscribers until the source ends or is stopped, and notes why it ended.
async fn hand_out(
    mut source: impl FrameSource,
    fanout: FrameFanout,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), SourceError> {
    let mut check = FrameCheck::default();
    let hand_on = |frame: BroadcastFrame| {
        shared.counters.handle_frame(&frame);
        fanout.send(frame);
    };
    loop {
        let next = tokio::select! {
            // `stopped` is polled first, so that a source which always has a frame can be stopped.
            biased;
            _ = &mut stopped => break,
            next = source.next(&shared.demand) => check.pass(next),
        };
        match next {
            Ok(Some(frame)) => hand_on(frame),
            Ok(None) => {
                let _ = shared.end.set(BROADCAST_DONE);
                return Ok(());
            }
            Err(error) => {
                let _ = shared.end.set(told(&error, &shared.counters));
                return Err(error);
            }
        }
    }
    // If the source breaks off from now on (for example a pipe whose writer was stopped too), that is no failure.
    let _ = shared.end.set(BROADCAST_DONE);
    source.stop();
    // The frame in the making still goes out, if the source finishes it soon.
    let soon = shared.offer.welcome.interval().min(LAST_FRAME_TIMEOUT);
    let last = timeout(soon, source.next(&shared.demand)).await;
    if let Ok(Ok(Some(frame))) = last.map(|last| check.pass(last)) {
        hand_on(frame);
    }
    Ok(())
}

/// Counts a source's failure and returns the close that receivers get.
fn told(error: &SourceError, counters: &Counters) -> Close {
    match error {
        SourceError::BrokenOff(_) => {
            Counters::add(&counters.source_failures, 1);
            Close { code: Code::Source, why: "the source broke off" }
        }
        SourceError::Failed(_) => Close { code: Code::Failed, why: "a frame could not be made" },
    }
}

/// Waits until all feeds have ended.
async fn ended(feeds: &mut JoinSet<()>) {
    while feeds.join_next().await.is_some() {}
}

/// Serves one peer, from its handshake on.
async fn serve(handshake: Handshake, ticket: SlotGuard, entry: DemandEntry, directory: Arc<Directory>) {
    let shared = Arc::clone(&directory.first().shared);
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
        Ok(Client::Receiver(connection)) => return feed::run(connection, time_is_up, entry, directory).await,
        Ok(Client::Browser(browser)) => browser,
        Err(error) => return refuse(&error),
    };
    let accepted = tokio::select! {
        accepted = BrowserConnection::accept(browser, &shared.origins, &mut time_is_up) => accepted,
        () = shared.is_cut_off() => return,
    };
    match accepted {
        Ok(connection) => feed::run(connection, time_is_up, entry, directory).await,
        Err(error) => refuse(&error.to_string()),
    }
}

/// Returns the address that receivers connect to. An unspecified IP address (all of a machine's) becomes `HOST`.
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

#[cfg(test)]
mod tests;
