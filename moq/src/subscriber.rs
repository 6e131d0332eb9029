//! Subscribes to a broadcast at a relay: drives a [`ReceiverSession`] with what its tracks bring.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_proto::{
    BroadcastName, Clock, Control, DecoderKind, Hello, Message, ReceiverOutput, ReceiverSession, VersionRange,
};
use nestcast_receiver::{FrameSink, Latency, Player, Readiness, Retry, Trust, Viewer};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::assembly::{Assembly, Step};
use crate::error::{Error, Fault};
use crate::mapping::Track;
use crate::tracks::{self, Event, Subscription};
use crate::url::RelayUrl;

/// How late a group may be: base layers as long as a session waits for them, the rest of a frame until it is stopped.
const MAX_BASE_AGE: Duration = Duration::from_secs(1);
const MAX_MORE_AGE: Duration = Duration::from_millis(300);
/// How late a packet of sound may be.
const MAX_SOUND_AGE: Duration = Duration::from_millis(500);
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
    /// Whether to wait for the broadcast, and for the next one, however long that takes.
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
    loop {
        let ended = run(&config, sink, retry.attempt_time(), shutdown.as_mut()).await;
        let Some((error, handed_over)) = ended else { return Ok(()) };
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
    sink: &mut S,
    time: Duration,
    mut shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<(Error, Option<Duration>)> {
    let subscription = tokio::select! {
        biased;
        () = &mut shutdown => return None,
        opened = Subscription::open(&config.url, &config.trust, time) => opened,
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
    assembly: Option<Assembly>,
    /// The instant of the session's time zero.
    epoch: Instant,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    readers: JoinSet<()>,
    wants_sound: bool,
    /// When base layers were complete, and the newest stream of a group up to there.
    completed: VecDeque<(Duration, u64)>,
    /// The readers of two tracks, never of both.
    join: Option<AbortHandle>,
    more: Option<AbortHandle>,
    /// When the first and the last frame were handed over.
    handed_over: Option<(Instant, Instant)>,
}

impl<'a, S: FrameSink> Driver<'a, S> {
    fn new(subscription: Subscription, decoder: DecoderKind, sink: &'a mut S) -> Self {
        let (events, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let hello = Hello {
            versions: VersionRange::SPOKEN,
            token: Bytes::new(),
            max_bitrate: None,
            decoder,
            broadcast: BroadcastName::default(),
            start: None,
        };
        Self {
            subscription,
            sink,
            session: ReceiverSession::new(hello, false),
            assembly: None,
            epoch: Instant::now(),
            events,
            inbox,
            readers: JoinSet::new(),
            wants_sound: false,
            completed: VecDeque::new(),
            join: None,
            more: None,
            handed_over: None,
        }
    }

    /// Runs the session to its end, and returns why it ended.
    async fn run(&mut self) -> Error {
        let clock = Clock { micros: u64::try_from(wall_clock().as_micros()).unwrap_or(u64::MAX) };
        self.session.handle_control_bytes(&self.subscription.welcome);
        self.session.handle_control_bytes(&Message::Clock(clock).encode());
        loop {
            self.session.handle_rtt(self.subscription.relay.rtt());
            if let Err(error) = self.take_outputs().await {
                return error;
            }
            if let ControlFlow::Break(error) = self.take_input().await {
                self.session.handle_close();
                return self.take_outputs().await.err().unwrap_or(error);
            }
        }
    }

    /// Waits for the next input and passes it to the session.
    async fn take_input(&mut self) -> ControlFlow<Error> {
        let frames = self.assembly.as_ref().and_then(Assembly::poll_timeout);
        let due = [self.session.poll_timeout(), frames].into_iter().flatten().min().map(|due| self.epoch + due);
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
            () = due => {
                if let Some(assembly) = &mut self.assembly {
                    assembly.handle_time(self.epoch.elapsed());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn handle(&mut self, event: Event) -> ControlFlow<Error> {
        let now = self.epoch.elapsed();
        let Some(assembly) = &mut self.assembly else { return ControlFlow::Continue(()) };
        match event {
            Event::Sound(packet) => assembly.handle_sound(packet),
            Event::BaseGroup(group) => assembly.handle_base_group(group),
            Event::Bytes(track, group, bytes) => assembly.handle_bytes(now, track, group, bytes),
            Event::GroupEnd(track, group) => assembly.handle_end(now, track, group),
            Event::TrackEnd(Track::Sound, why) => tracing::warn!("the sound ended: {why}"),
            Event::TrackEnd(_, why) => {
                tracing::debug!("a track ended: {why}");
                return ControlFlow::Break(Error::Ended);
            }
        }
        ControlFlow::Continue(())
    }

    /// Passes assembled streams to the session, and performs everything that it asks for.
    async fn take_outputs(&mut self) -> Result<(), Error> {
        self.pass_steps();
        while let Some(output) = self.poll() {
            match output {
                ReceiverOutput::Say(message) => self.handle_said(&message),
                ReceiverOutput::Welcome { welcome, sender_clock } => {
                    let video = welcome.video.is_some();
                    if !video {
                        return Err(Fault::Pictures.into());
                    }
                    self.sink.handle_clock(sender_clock);
                    match self.sink.handle_welcome(&welcome).await.map_err(Error::sink)? {
                        Readiness::Ready => self.session.handle_ready(self.epoch.elapsed()),
                        Readiness::NeedsPackage => self.session.handle_package_missing(self.epoch.elapsed()),
                    }
                    self.assembly = Some(Assembly::new(welcome.interval(), video));
                    self.read(Track::Base, MAX_BASE_AGE).await?;
                    if self.wants_sound {
                        self.read_sound();
                    }
                }
                ReceiverOutput::SoundAnnounced(sound) => {
                    self.wants_sound = self.sink.handle_sound_announced(sound);
                    self.session.handle_sound_wanted(self.epoch.elapsed(), self.wants_sound);
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
            self.pass_steps();
        }
        self.read_others().await
    }

    fn poll(&mut self) -> Option<ReceiverOutput> {
        if let Some(lost) = self.sink.lost() {
            self.session.handle_undecoded(lost);
        }
        self.session.poll(self.epoch.elapsed())
    }

    /// Handles a message for the sender, who does not hear it. The relay's tracks answer in its place.
    fn handle_said(&mut self, message: &[u8]) {
        self.session.handle_said();
        let mut control = Control::default();
        control.handle_bytes(message);
        let (Ok(Some(Message::RandomAccessRequest(request))), Some(assembly)) = (control.poll(), &mut self.assembly)
        else {
            return;
        };
        assembly.wait_for_join(request.lost);
    }

    fn pass_steps(&mut self) {
        let now = self.epoch.elapsed();
        while let Some(step) = self.assembly.as_mut().and_then(Assembly::poll) {
            match step {
                Step::Open(stream) => self.session.handle_opened(stream),
                Step::Bytes(stream, offset, bytes) => self.session.handle_stream_bytes(now, stream, offset, bytes),
                Step::End(stream) => self.session.handle_stream_end(now, stream),
                Step::StopBefore(track, group) => self.subscription.stops.stop_before(track, group),
                Step::Complete(group) => self.stop_headless(now, group),
            }
        }
    }

    /// Stops streams that had no head for a while. All base layers up to `complete` are here.
    fn stop_headless(&mut self, now: Duration, complete: u64) {
        // A random-access frame is not stopped.
        if self.join.is_some() {
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

    /// Reads random-access frames while they are needed, and the rest of frames otherwise. Meanwhile the rest of frames
    /// would take the room of the random-access frame, and could not be decoded.
    async fn read_others(&mut self) -> Result<(), Error> {
        let Some(assembly) = &self.assembly else { return Ok(()) };
        let (unwanted, wanted, track, age) = if assembly.needs_join() {
            (&mut self.more, &self.join, Track::Join, MAX_BASE_AGE)
        } else {
            (&mut self.join, &self.more, Track::More, MAX_MORE_AGE)
        };
        if let Some(reader) = unwanted.take() {
            reader.abort();
        }
        if wanted.is_none() {
            let reader = self.read(track, age).await?;
            *(if track == Track::Join { &mut self.join } else { &mut self.more }) = Some(reader);
        }
        Ok(())
    }

    /// Reads sound from now on, if the relay has it. Pictures do not wait for that.
    fn read_sound(&mut self) {
        let subscribed = self.subscription.track(Track::Sound);
        let events = self.events.clone();
        self.readers.spawn(async move {
            match subscribed.await {
                Ok(subscriber) => tracks::read(Track::Sound, MAX_SOUND_AGE, subscriber, events).await,
                Err(error) => tracing::warn!("there is no sound: {error}"),
            }
        });
    }

    /// Reads a track from now on.
    async fn read(&mut self, track: Track, age: Duration) -> Result<AbortHandle, Error> {
        let subscriber = self.subscription.track(track).await?;
        Ok(self.readers.spawn(tracks::read(track, age, subscriber, self.events.clone())))
    }
}

fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
