//! Subscribes to a broadcast at a relay: drives a [`Follower`] and a [`ReceiverSession`] with what its tracks bring.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nestcast_proto::{DecoderKind, ReceiverOutput, ReceiverSession};
use nestcast_receiver::{FrameSink, Latency, Player, Readiness, Retry, Trust, Viewer};
use nestcast_relayed::{Follower, Track, Wanted};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::current_url::CurrentUrl;
use crate::error::Error;
use crate::tracks::{self, Read, Subscription};
use crate::url::RelayUrl;

/// How long a stream may have no head while later ones have one, or three round trips if that is longer: its first
/// packet may have been lost, and it may be a base layer or sound.
const HEADLESS_TIME: Duration = Duration::from_millis(250);
/// The most pieces of groups that wait to be processed. Readers wait when that many do.
const MAX_WAITING_EVENTS: usize = 64;

/// The configuration of a subscriber.
#[derive(Debug, Clone)]
pub struct Config {
    /// The broadcast.
    pub url: RelayUrl,
    /// Which relays it trusts.
    pub trust: Trust,
    /// How frames are decoded.
    pub decoder: DecoderKind,
    /// How long to retry while no frame is useful, at the start and later. Zero means one attempt.
    pub retry: Duration,
    /// Whether to wait for the broadcast, and for the next one, however long that takes. With a token in a file
    /// ([`RelayUrl::with_token_file`]), also for another token when the relay refuses this one.
    pub wait: bool,
    /// How long [`view`] delays frames so that they are shown evenly.
    pub latency: Latency,
}

/// Shows a relayed broadcast to `viewer`, as [`nestcast_receiver::view`] shows a direct one.
///
/// # Errors
/// Why it cannot continue.
pub async fn view(config: Config, viewer: impl Viewer, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let mut player = Player::start_with_latency(viewer, config.latency);
    let outcome = receive(config, &mut player, shutdown).await;
    // The viewer's error is closer to the cause than the connection's.
    player.finish().await.map_err(Error::sink).and(outcome)
}

/// Feeds `sink` until the broadcast ends or `shutdown` is ready; connects again as [`Config`] says.
///
/// # Errors
/// Why it cannot continue.
pub async fn receive<S: FrameSink>(
    config: Config,
    sink: &mut S,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let mut shutdown = std::pin::pin!(shutdown);
    let mut retry = Retry::new(if config.wait { Duration::MAX } else { config.retry });
    let mut current = CurrentUrl::new(&config.url);
    loop {
        let url = tokio::select! {
            url = current.read() => url,
            // A file on another machine may not answer.
            () = &mut shutdown => return Ok(()),
        };
        let ended = run(&config, url, sink, retry.attempt_time(), shutdown.as_mut()).await;
        let Some((error, handed_over)) = ended else { return Ok(()) };
        sink.handle_disconnection();
        if config.wait && matches!(error, Error::Unauthorized) && current.may_change() {
            tracing::warn!("{error}; waiting for another token in its file");
            tokio::select! {
                () = current.changed() => {}
                () = &mut shutdown => return Ok(()),
                error = sink.failed() => return Err(Error::sink(error)),
            }
            continue;
        }
        if !error.may_retry() {
            return Err(error);
        }
        let useful = sink.useful_for(handed_over);
        let Some(pause) = retry.next(useful, fastrand::f64()) else {
            let (attempts, time) = retry.spent();
            return Err(if attempts == 1 { error } else { Error::GaveUp { last: Box::new(error), attempts, time } });
        };
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = &mut shutdown => return Ok(()),
            error = sink.failed() => return Err(Error::sink(error)),
        }
    }
}

/// Runs one connection. Returns why it ended, and the time from the first frame handed over to the last; `None` after a
/// shutdown.
async fn run<S: FrameSink>(
    config: &Config,
    url: &RelayUrl,
    sink: &mut S,
    time: Duration,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<(Error, Option<Duration>)> {
    let subscription = tokio::select! {
        biased;
        () = &mut shutdown => return None,
        opened = Subscription::open(url, &config.trust, time) => opened,
    };
    let subscription = match subscription {
        Ok(subscription) => subscription,
        Err(error) => return Some((error, None)),
    };
    sink.handle_connection();
    let mut driver = Driver::new(subscription, config.decoder, sink);
    let ended = tokio::select! {
        biased;
        () = shutdown => None,
        error = driver.run() => Some((error, driver.handed_over.map(|(first, last)| last - first))),
    };
    driver.subscription.relay.close().await;
    ended
}

/// A session over a relay's tracks.
struct Driver<'a, S> {
    subscription: Subscription,
    sink: &'a mut S,
    session: ReceiverSession,
    follower: Follower,
    /// The instant of the session's time zero.
    epoch: Instant,
    events: mpsc::Sender<Read>,
    inbox: mpsc::Receiver<Read>,
    readers: JoinSet<()>,
    /// The reader of each track.
    tracks: BTreeMap<Track, AbortHandle>,
    /// When base layers were complete, and the newest stream of a group up to there.
    completed: VecDeque<(Duration, u64)>,
    /// When the first and the last frame were handed over.
    handed_over: Option<(Instant, Instant)>,
}

impl<'a, S: FrameSink> Driver<'a, S> {
    fn new(subscription: Subscription, decoder: DecoderKind, sink: &'a mut S) -> Self {
        let (events, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let rtt = subscription.relay.rtt();
        let session = Follower::begin(&subscription.welcome, wall_clock(), rtt, decoder);
        Self {
            subscription,
            sink,
            session,
            follower: Follower::default(),
            epoch: Instant::now(),
            events,
            inbox,
            readers: JoinSet::new(),
            tracks: BTreeMap::new(),
            completed: VecDeque::new(),
            handed_over: None,
        }
    }

    /// Runs the session to its end, and returns why it ended.
    async fn run(&mut self) -> Error {
        loop {
            self.session.handle_rtt(self.subscription.relay.rtt());
            if let Err(error) = self.take_outputs().await {
                return error;
            }
            if let ControlFlow::Break(error) = self.take_input().await {
                // What came before the end goes to the session.
                while let Ok(read) = self.inbox.try_recv() {
                    if let Read::Event(event) = read {
                        self.follower.handle_event(self.epoch.elapsed(), event);
                    }
                }
                self.follow();
                self.session.handle_close();
                let error = self.take_outputs().await.err().unwrap_or(error);
                return self.cause(error).await;
            }
        }
    }

    /// Returns why the connection ended, if a track ended because of that; otherwise this error.
    async fn cause(&self, error: Error) -> Error {
        if !matches!(error, Error::Ended | Error::Lost(_)) {
            return error;
        }
        tokio::select! {
            biased;
            closed = self.subscription.relay.closed() => closed,
            () = std::future::ready(()) => error,
        }
    }

    /// Waits for the next input and passes it to the session.
    async fn take_input(&mut self) -> ControlFlow<Error> {
        let due = [self.session.poll_timeout(), self.follower.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
            .map(|due| self.epoch + due);
        let due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = self.inbox.recv() => match event {
                Some(event) => return self.handle(event),
                None => return ControlFlow::Break(Error::Ended),
            },
            error = self.sink.failed() => return ControlFlow::Break(Error::sink(error)),
            error = self.subscription.relay.closed() => return ControlFlow::Break(error),
            () = due => self.follower.handle_time(self.epoch.elapsed()),
        }
        ControlFlow::Continue(())
    }

    fn handle(&mut self, read: Read) -> ControlFlow<Error> {
        match read {
            Read::Event(event) => self.follower.handle_event(self.epoch.elapsed(), event),
            Read::TrackEnd(Track::Sound, why) => {
                tracing::warn!("the sound ended: {why}");
                self.follower.handle_sound_end();
            }
            Read::TrackEnd(_, why) => {
                tracing::debug!("a track ended: {why}");
                return ControlFlow::Break(Error::Ended);
            }
            Read::Refused(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    /// Passes assembled streams to the session, and performs everything that it asks for.
    async fn take_outputs(&mut self) -> Result<(), Error> {
        self.follow();
        while let Some(output) = self.poll() {
            match output {
                ReceiverOutput::Say(message) => self.follower.handle_said(&mut self.session, &message),
                ReceiverOutput::Welcome { welcome, sender_clock } => {
                    Follower::check(&welcome)?;
                    self.sink.handle_clock(sender_clock);
                    match self.sink.handle_welcome(&welcome).await.map_err(Error::sink)? {
                        Readiness::Ready => self.session.handle_ready(self.epoch.elapsed()),
                        Readiness::NeedsPackage => self.session.handle_package_missing(self.epoch.elapsed()),
                    }
                    self.follower.handle_ready(welcome.interval());
                }
                ReceiverOutput::SoundAnnounced(sound) => {
                    let wanted = self.sink.handle_sound_announced(sound);
                    self.session.handle_sound_wanted(self.epoch.elapsed(), wanted);
                    self.follower.handle_sound_wanted(wanted);
                }
                ReceiverOutput::Sound(packet) => self.sink.handle_sound(packet).map_err(Error::sink)?,
                ReceiverOutput::Frame(arrived) => {
                    let now = Instant::now();
                    let first = self.handed_over.map_or(now, |(first, _)| first);
                    self.handed_over = Some((first, now));
                    self.sink.handle_frame(arrived, self.session.stats()).map_err(Error::sink)?;
                }
                ReceiverOutput::More(more) => {
                    self.sink.handle_more(more, self.session.stats()).map_err(Error::sink)?;
                }
                ReceiverOutput::Close(end) => return Err(Error::Session(end)),
                _ => {}
            }
            self.follow();
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<ReceiverOutput> {
        if let Some(lost) = self.sink.lost() {
            self.session.handle_undecoded(lost);
        }
        self.session.poll(self.epoch.elapsed())
    }

    /// Passes assembled streams to the session, and does what the follower wants of the tracks.
    fn follow(&mut self) {
        let now = self.epoch.elapsed();
        while let Some(wanted) = self.follower.poll(now, &mut self.session) {
            match wanted {
                Wanted::Read(track) => self.read(track),
                Wanted::Leave(track) => {
                    if let Some(reader) = self.tracks.remove(&track) {
                        reader.abort();
                    }
                }
                Wanted::StopBefore(track, group) => self.subscription.stops.stop_before(track, group),
                Wanted::Complete(group) => self.stop_headless(now, group),
            }
        }
    }

    /// Stops streams that had no head for a while. All base layers up to `complete` are here.
    fn stop_headless(&mut self, now: Duration, complete: u64) {
        // A random-access frame is not stopped.
        if self.follower.reads_join() {
            self.completed.clear();
            return;
        }
        let stops = &self.subscription.stops;
        self.completed.extend(stops.newest_stream(complete).map(|stream| (now, stream)));
        let wait = HEADLESS_TIME.max(3 * self.subscription.relay.rtt());
        while let Some((_, stream)) = self.completed.pop_front_if(|(at, _)| now.saturating_sub(*at) >= wait) {
            stops.stop_headless_before(stream, complete);
        }
    }

    /// Reads a track from now on. Frames that are here do not wait until the relay confirms that.
    fn read(&mut self, track: Track) {
        let subscribed = self.subscription.track(track);
        let events = self.events.clone();
        // The set keeps a reader that ended until someone takes it.
        while self.readers.try_join_next().is_some() {}
        let reader = self.readers.spawn(async move {
            match subscribed.await {
                Ok(subscriber) => tracks::read(track, subscriber, events).await,
                Err(error) if track == Track::Sound => tracing::warn!("there is no sound: {error}"),
                // The driver may have ended.
                Err(error) => drop(events.send(Read::Refused(error)).await),
            }
        });
        self.tracks.insert(track, reader);
    }
}

fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
