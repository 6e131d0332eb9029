//! The mailbox between the network and a thread that processes frames. It keeps only the newest picture, but loses
//! nothing else.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use nestcast_proto::{MAX_OPEN_VIDEO_FRAMES, More, ReceiveStats, ReceivedFrame, Sound, SoundPacket, Welcome};
use tokio::sync::{oneshot, watch};

use crate::sink::Readiness;

/// The most packets of sound that wait for the thread: a second's.
const MAX_WAITING_SOUND: usize = 50;

/// The channel for the thread's answer; dropped if the thread failed.
pub(crate) type Answer<T> = oneshot::Sender<T>;

/// Both ends of the mailbox. The network never waits for a frame to be processed. At most one picture waits, and at
/// most [`MAX_OPEN_VIDEO_FRAMES`] frames of video: as many may come at once, with a base layer that they waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mailbox(Arc<Shared>);

/// The thread ended, and will not answer.
#[derive(Debug)]
pub(crate) struct Ended;

/// What arrived on all connections so far, and the part of it that was not processed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) received: ReceiveStats,
    /// Frames that a newer one replaced.
    pub(crate) replaced: u64,
    /// Connections with a useful frame, after the first of these.
    pub(crate) reconnects: u64,
    /// The time from the first useful frame of each connection to its last.
    pub(crate) watched: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    mail: Mail,
    /// The sound of this connection's broadcast, until its welcome follows.
    sound_announced: Option<Sound>,
    /// Whether frames are video, which depend on earlier ones.
    video: bool,
    /// What arrived on this connection, and on earlier ones.
    current: ReceiveStats,
    past: ReceiveStats,
    connections: u64,
    replaced: u64,
    /// The newest frame of video that was replaced or could not be decoded, until it is reported.
    lost: Option<u64>,
    /// How far the sender's clock is ahead of ours, in microseconds.
    ahead: i64,
    /// The last connection with a useful frame.
    useful: Option<Useful>,
    /// How many there were, and for how long those before it had useful frames.
    useful_connections: u64,
    watched: Duration,
    ended: bool,
}

/// When a connection's first and last useful frame was shown.
#[derive(Debug, Clone, Copy)]
struct Useful {
    connection: u64,
    first: Instant,
    last: Instant,
}

impl Useful {
    fn time(self) -> Duration {
        self.last - self.first
    }
}

impl State {
    fn watched(&self) -> Duration {
        self.watched.saturating_add(self.useful.map_or(Duration::ZERO, Useful::time))
    }
}

/// The thread's mail. The frames were sent before anything that is announced with them.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) frames: VecDeque<ReceivedFrame>,
    /// More of the last frame, or of the one before these.
    pub(crate) more: Option<More>,
    /// Packets of sound, with the moment at which each came.
    pub(crate) sound: VecDeque<(Instant, SoundPacket)>,
    pub(crate) welcome: Option<(Welcome, Answer<Readiness>)>,
    /// The sound of the broadcast that the welcome is of.
    pub(crate) sound_announced: Option<Sound>,
    /// The number of the connection that the welcome is of.
    pub(crate) connection: u64,
    pub(crate) package: Option<(Bytes, Answer<()>)>,
    /// Whether the connection that these frames came over ended, before anything that is announced.
    pub(crate) disconnected: bool,
    /// Whether this is the last mail.
    pub(crate) last: bool,
}

impl Mail {
    /// Returns whether nothing arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
            && self.more.is_none()
            && self.sound.is_empty()
            && self.welcome.is_none()
            && self.package.is_none()
            && !self.disconnected
    }
}

/// The network's end.
impl Mailbox {
    /// Notes a new connection: later mail belongs to it.
    pub(crate) fn connected(&self) {
        let mut state = self.state();
        state.connections += 1;
        state.past = add(state.past, state.current);
        (state.current, state.sound_announced) = (ReceiveStats::default(), None);
    }

    /// Notes that the connection ended.
    pub(crate) fn disconnected(&self) {
        self.post(|state| state.mail.disconnected = true);
    }

    /// Announces a sender, and waits for the answer.
    pub(crate) async fn welcome(&self, welcome: Welcome) -> Result<Readiness, Ended> {
        let (answer, answered) = oneshot::channel();
        self.post(|state| {
            state.video = welcome.video.is_some();
            state.mail.welcome = Some((welcome, answer));
            (state.mail.connection, state.mail.sound_announced) = (state.connections, state.sound_announced.take());
        });
        let readiness = answered.await.map_err(|_| Ended)?;
        // By now the thread has reported all frames of the connection before, and no frame of this one came.
        self.state().lost = None;
        Ok(readiness)
    }

    /// Hands over a model package, and waits until it is accepted.
    pub(crate) async fn package(&self, package: Bytes) -> Result<(), Ended> {
        let (answer, answered) = oneshot::channel();
        self.post(|state| state.mail.package = Some((package, answer)));
        answered.await.map_err(|_| Ended)
    }

    /// Hands over a frame. If too many wait, it replaces the oldest.
    pub(crate) fn frame(&self, arrived: ReceivedFrame, received: ReceiveStats) {
        self.post(|state| {
            state.current = received;
            let most = if state.video { MAX_OPEN_VIDEO_FRAMES } else { 1 };
            while state.mail.frames.len() >= most {
                let replaced = state.mail.frames.pop_front();
                state.lost = replaced.filter(|_| state.video).map(|arrived| arrived.header.id).or(state.lost);
                state.replaced += 1;
            }
            state.mail.frames.push_back(arrived);
            state.mail.more = None;
        });
    }

    /// Hands over more of the last frame, after the part of it that already waits.
    pub(crate) fn more(&self, more: More, received: ReceiveStats) {
        self.post(|state| {
            state.current = received;
            let before = state.mail.more.take().filter(|before| before.frame == more.frame);
            state.mail.more = Some(match before {
                Some(before) => More { bytes: join(before.bytes, &more.bytes), ..more },
                None => more,
            });
        });
    }

    /// Announces the sound of the broadcast whose welcome follows.
    pub(crate) fn sound_announced(&self, sound: Sound) {
        self.state().sound_announced = Some(sound);
    }

    /// Hands over a packet of sound. If too many wait, it replaces the oldest.
    pub(crate) fn sound(&self, packet: SoundPacket) {
        self.post(|state| {
            if state.mail.sound.len() >= MAX_WAITING_SOUND {
                state.mail.sound.pop_front();
            }
            state.mail.sound.push_back((Instant::now(), packet));
        });
    }

    /// Returns the newest frame of video that was replaced or could not be decoded, once.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.state().lost.take()
    }

    /// Sets by how many microseconds the sender's clock is ahead of ours.
    pub(crate) fn set_ahead(&self, micros: i64) {
        self.state().ahead = micros;
    }

    /// Waits until the thread has ended.
    pub(crate) async fn ended(&self) {
        // This handle keeps the channel open.
        let _ = self.0.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Returns the time from this connection's first useful frame to the last; `None` if there was none.
    pub(crate) fn useful_for(&self) -> Option<Duration> {
        let state = self.state();
        state.useful.filter(|useful| useful.connection == state.connections).map(Useful::time)
    }

    /// Closes the mailbox when the returned guard is dropped.
    pub(crate) fn close_on_drop(&self) -> CloseOnDrop {
        CloseOnDrop(self.clone())
    }

    fn post(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        // After the thread's end nobody would answer.
        if !state.ended {
            change(&mut state);
            self.0.news.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's end.
impl Mailbox {
    /// Returns by how many microseconds the sender's clock is ahead of ours.
    pub(crate) fn ahead(&self) -> i64 {
        self.state().ahead
    }

    /// Tells all who wait for the thread that it has ended, when the returned guard is dropped.
    pub(crate) fn end_on_drop(&self) -> EndOnDrop<'_> {
        EndOnDrop(self)
    }

    /// Waits for mail, at most for `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Mail {
        let state = self.state();
        let nothing = |state: &mut State| state.mail.is_empty() && !state.mail.last;
        let waited = self.0.news.wait_timeout_while(state, patience, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let last = state.mail.last;
        std::mem::replace(&mut state.mail, Mail { last, ..Mail::default() })
    }

    /// Notes a frame of video that could not be decoded: frames after it are damaged.
    pub(crate) fn undecodable(&self, frame: u64) {
        let mut state = self.state();
        state.lost = state.lost.max(Some(frame));
    }

    /// Notes that a frame of this connection was useful. The network may have another one already.
    pub(crate) fn was_useful(&self, connection: u64) {
        let last = Instant::now();
        let mut state = self.state();
        let first = match state.useful {
            Some(useful) if useful.connection == connection => useful.first,
            _ => {
                state.watched = state.watched();
                state.useful_connections += 1;
                last
            }
        };
        state.useful = Some(Useful { connection, first, last });
    }

    /// Returns the network's counts.
    pub(crate) fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            received: add(state.past, state.current),
            replaced: state.replaced,
            reconnects: state.useful_connections.saturating_sub(1),
            watched: state.watched(),
        }
    }
}

/// Ends the thread, however the reception ends.
#[derive(Debug)]
pub(crate) struct CloseOnDrop(Mailbox);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.post(|state| state.mail.last = true);
    }
}

/// Tells all who wait for the thread that it has ended, however it ends.
pub(crate) struct EndOnDrop<'a>(&'a Mailbox);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.ended, state.mail) = (true, Mail::default());
        self.0.0.ended.send_replace(true);
    }
}

fn join(before: Bytes, bytes: &Bytes) -> Bytes {
    let mut joined = BytesMut::from(before);
    joined.extend_from_slice(bytes);
    joined.freeze()
}

fn add(a: ReceiveStats, b: ReceiveStats) -> ReceiveStats {
    ReceiveStats {
        shown: a.shown + b.shown,
        missing_bases: a.missing_bases + b.missing_bases,
        bytes: a.bytes + b.bytes,
        useful: a.useful + b.useful,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sound_arrives_with_the_welcome_of_its_connection_alone() {
        let mailbox = Mailbox::default();
        let welcome = Welcome {
            model: [0; 6],
            package: nestcast_proto::PackageHash([0; 32]),
            width: 1,
            height: 1,
            rate: nestcast_proto::FrameRate::new(1, 1).expect("a rate"),
            video: None,
        };
        // The first connection ends before its welcome, and the third has no sound.
        for (announced, welcomed) in [(true, false), (true, true), (false, true)] {
            mailbox.connected();
            if announced {
                mailbox.sound_announced(Sound::Stereo);
            }
            mailbox.disconnected();
            assert_eq!(mailbox.take(Duration::ZERO).sound_announced, None, "the thread looks in between");
            if welcomed {
                let thread = async { mailbox.take(Duration::ZERO).sound_announced };
                let (_, sound) = tokio::join!(mailbox.welcome(welcome.clone()), thread);
                assert_eq!(sound.is_some(), announced);
            }
        }
    }

    #[test]
    fn a_connection_counts_if_it_showed_a_frame_and_one_frame_counts_for_one_connection() {
        let mailbox = Mailbox::default();
        let pause = || std::thread::sleep(Duration::from_millis(20));
        let counted = || (mailbox.counts().reconnects, mailbox.useful_for().is_some());
        mailbox.connected();
        assert_eq!(counted(), (0, false));
        mailbox.was_useful(1);
        assert_eq!(counted(), (0, true));
        // The next two are refused before any frame, while frames of the first are shown still.
        for _ in 0..2 {
            mailbox.connected();
            pause();
            mailbox.was_useful(1);
            assert_eq!(counted(), (0, false));
        }
        let of_first = mailbox.counts().watched;
        assert!(of_first >= Duration::from_millis(40), "{of_first:?}");
        mailbox.connected();
        pause();
        mailbox.was_useful(4);
        assert_eq!((counted(), mailbox.counts().watched), ((1, true), of_first));
    }
}
