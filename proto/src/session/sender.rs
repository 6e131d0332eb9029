//! The sender's side of one receiver's session, from the hello to the close.

mod finished;
mod messages;
pub(crate) mod output;
mod package;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use self::finished::Finished;
use self::output::{SenderEnd, SenderOutput, Urgency};
use self::package::PackageStream;
use crate::demand::ReceiverDemand;
use crate::path::stats::PathStats;
use crate::publish::publisher::Publisher;
use crate::publish::rendition::{BroadcastFrame, RenditionFollower};
use crate::publish::room::Room;
use crate::publish::stats::SendStats;
use crate::publish::step::Step;
use crate::wire::close::{Close, Code};
use crate::wire::control::Control;
use crate::wire::limits::MAX_MESSAGE;
use crate::wire::message::{Clock, Message, Welcome};
use crate::wire::sound::Sound;
use crate::wire::start::Start;
use crate::wire::version::VersionRange;
use nestcast_units::Bitrate;

/// What a broadcast offers to every receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The broadcast's announcement.
    pub welcome: Welcome,
    /// The model package that the welcome names, if the sender sends it.
    pub package: Option<Bytes>,
    /// The broadcast's sound, if it has any.
    pub sound: Option<Sound>,
}

/// The most bytes of messages that wait for admission.
const MAX_HELD_BYTES: usize = 4 * MAX_MESSAGE;
/// The most packets of sound that are left out before the first frame: half a second of them.
const MAX_SOUND_BEFORE_FRAMES: u8 = 25;

/// The session's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the receiver's hello.
    Hello,
    /// Waits for the driver to admit a receiver that speaks these versions.
    Admission(VersionRange),
    /// Frames flow.
    Live,
    /// There are no more frames. The session closes after the written bytes have arrived.
    Ending(Close),
    /// The session has ended.
    Ended,
}

/// The stream that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Current {
    /// The oldest frame on the stream.
    frame: u64,
    /// The stream's number, once it is open.
    stream: Option<u64>,
}

/// One receiver's session, from its hello to the end. See the crate's example for the loop of a driver.
///
/// Times are [`Duration`]s since an origin that the driver chooses. After every input, call [`SenderSession::poll`]
/// until it returns [`SenderOutput::Write`] or `None`; call it again at [`SenderSession::poll_timeout`].
///
/// The session has no timeout of its own for the hello: how long a peer may take depends on how many others wait (spec,
/// "Floods").
#[derive(Debug)]
pub struct SenderSession {
    offer: Arc<Offer>,
    control: Control,
    phase: Phase,
    max_bitrate: Option<Bitrate>,
    publisher: Publisher,
    follower: RenditionFollower,
    current: Option<Current>,
    finished: Finished,
    /// Whether the receiver has asked for the package.
    was_asked: bool,
    package: Option<PackageStream>,
    /// For pictures: the newest frame that was due while the package is sent.
    kept: Option<BroadcastFrame>,
    /// The path as of the last frame.
    path: PathStats,
    /// Whether the session has asked the driver to await the last stream.
    awaits_last: bool,
    has_parity: bool,
    /// Whether the receiver asked for sound.
    wants_sound: bool,
    /// Packets of sound that may still be left out until the first frame's stream is open.
    sound_waits: u8,
    /// Whether the hello asked for a start, and where the receiver begins.
    asks_start: bool,
    start: Option<Start>,
    outputs: VecDeque<SenderOutput>,
}

impl SenderSession {
    /// Waits for a receiver's hello. `receiver` is the number by which [renditions](crate::Rendition) name the
    /// receiver.
    #[must_use]
    pub fn new(offer: Arc<Offer>, receiver: u64) -> Self {
        let publisher = Publisher::new(offer.welcome.interval(), None);
        Self {
            offer,
            control: Control::default(),
            phase: Phase::Hello,
            max_bitrate: None,
            publisher,
            follower: RenditionFollower::new(receiver),
            current: None,
            finished: Finished::default(),
            was_asked: false,
            package: None,
            kept: None,
            path: PathStats::default(),
            awaits_last: false,
            has_parity: true,
            wants_sound: false,
            sound_waits: MAX_SOUND_BEFORE_FRAMES,
            asks_start: false,
            start: None,
            outputs: VecDeque::new(),
        }
    }

    /// Sends no parity: for a transport that hides the numbers of streams from the receiver, as WebTransport does.
    #[must_use]
    pub const fn without_parity(mut self) -> Self {
        self.has_parity = false;
        self
    }

    /// Returns the receiver's cap: the least of what it asked for and what it was granted.
    #[must_use]
    pub const fn max_bitrate(&self) -> Option<Bitrate> {
        self.max_bitrate
    }

    /// Returns the delivery rate, as [`Publisher::delivery_rate`] does.
    #[must_use]
    pub fn delivery_rate(&self) -> Bitrate {
        self.publisher.delivery_rate()
    }

    /// Returns what was sent to the receiver so far.
    #[must_use]
    pub const fn stats(&self) -> SendStats {
        self.publisher.stats()
    }

    /// Returns what the receiver wants of the next frames, given the state of its path. Sound takes its part of both
    /// rates first.
    #[must_use]
    pub fn demand(&self, path: &PathStats) -> ReceiverDemand {
        ReceiverDemand {
            bandwidth: self.publisher.beside_sound(self.publisher.bandwidth_estimate(path)),
            max_bitrate: self.max_bitrate.map(|cap| self.publisher.beside_sound(cap)),
            useful_bytes: self.publisher.useful_bytes(),
            owed_frames: self.publisher.owed_frames(),
            needs_random_access: self.needs_random_access(),
            rendition: self.rendition(),
        }
    }

    /// Returns whether the receiver needs a [random-access frame](crate::RandomAccessFrame) to continue, and could show
    /// it.
    #[must_use]
    pub fn needs_random_access(&self) -> bool {
        self.package.is_none() && self.publisher.needs_random_access()
    }

    /// Returns the rendition's number of the newest frame; `None` before the first, and if there are no renditions.
    #[must_use]
    pub const fn rendition(&self) -> Option<u64> {
        self.follower.rendition()
    }

    /// Processes bytes of the control stream, in order.
    pub fn handle_control_bytes(&mut self, now: Duration, bytes: &[u8]) {
        if self.phase == Phase::Ended {
            return;
        }
        self.control.handle_bytes(bytes);
        self.take_messages(now);
        if self.control.held_bytes() > MAX_HELD_BYTES {
            self.violation("a receiver says too much before it is let in");
        }
    }

    /// Chooses another broadcast than that of [`SenderSession::new`] for a receiver that waits to be admitted, as its hello
    /// asks. `receiver` is the receiver's number in that broadcast.
    pub fn handle_chosen(&mut self, offer: Arc<Offer>, receiver: u64) {
        if matches!(self.phase, Phase::Admission(_)) {
            self.offer = offer;
            self.follower = RenditionFollower::new(receiver);
        }
    }

    /// Notes where the receiver begins, which asked for a start and waits to be admitted.
    pub const fn handle_start(&mut self, start: Start) {
        self.start = Some(start);
    }

    /// Admits the receiver, which gets at most `cap` and what it asked for. `clock` is the time now, in microseconds
    /// since 1970-01-01 UTC, by the clock of frames' `captured`.
    pub fn handle_admitted(&mut self, now: Duration, clock: u64, cap: Option<Bitrate>) {
        let Phase::Admission(versions) = self.phase else { return };
        let Some(version) = versions.common(VersionRange::SPOKEN) else { return };
        self.max_bitrate = [self.max_bitrate, cap].into_iter().flatten().min();
        let welcome = self.offer.welcome.clone();
        let interval = welcome.interval();
        let publisher = Publisher::new(interval, self.max_bitrate);
        let publisher = if self.has_parity { publisher } else { publisher.without_parity() };
        self.publisher = if welcome.video.is_some() { publisher.of_video(interval) } else { publisher };
        let welcome = Some(Message::Welcome { version, welcome });
        let start = self.asks_start.then_some(Message::Start(self.start));
        let said =
            [welcome, self.offer.sound.map(Message::Sound), start, Some(Message::Clock(Clock { micros: clock }))];
        let said: BytesMut = said.iter().flatten().flat_map(Message::encode).collect();
        self.outputs.extend([SenderOutput::Say(said.freeze()), SenderOutput::FinishControl]);
        self.phase = Phase::Live;
        self.take_messages(now);
    }

    /// Processes a frame that is due, given the state of the path. If [`SenderSession::wants_arrivals`] returns true,
    /// report the streams that arrived first.
    pub fn handle_frame(&mut self, now: Duration, frame: &BroadcastFrame, path: &PathStats) {
        if self.phase != Phase::Live {
            return;
        }
        self.path = *path;
        match self.package {
            None => self.begin_frame(now, frame),
            Some(_) => self.keep_frame(frame),
        }
    }

    /// Returns whether the receiver asked for sound. If not, packets need not be handed to the session.
    #[must_use]
    pub const fn wants_sound(&self) -> bool {
        self.wants_sound
    }

    /// Processes a packet of sound that is due: `stream` is [`StreamHead::sound_stream`](crate::StreamHead::sound_stream)
    /// of it. `unsettled` is the number of streams that [`SenderOutput::Sound`] asked for and that are not known to have
    /// arrived. Until the first frame's stream is open, it leaves sound out, for up to half a second. If the first stream's
    /// head is lost, the receiver takes that stream for an earlier frame's and waits for it.
    pub fn handle_sound(&mut self, stream: &Bytes, unsettled: usize) {
        if self.phase != Phase::Live || !self.wants_sound {
            return;
        }
        if self.sound_waits > 0 {
            self.sound_waits -= 1;
        } else if self.publisher.handle_sound(stream, unsettled) {
            self.outputs.push_back(SenderOutput::Sound(stream.clone()));
        }
    }

    fn begin_frame(&mut self, now: Duration, frame: &BroadcastFrame) {
        let followed = self.follower.follow(frame);
        if followed.begins_anew {
            self.publisher.handle_other_rendition();
        }
        self.publisher.handle_frame(now, followed.frame, &self.path);
        self.outputs.push_back(SenderOutput::AllowBeyond(self.publisher.packets_beyond(&self.path)));
    }

    /// Skips frames while the model is sent. The newest picture waits; after video the next frame begins anew.
    fn keep_frame(&mut self, frame: &BroadcastFrame) {
        let is_video = self.offer.welcome.video.is_some();
        if is_video || self.kept.replace(frame.clone()).is_some() {
            self.publisher.handle_missed(1);
        }
    }

    /// Begins anew after the model package: the receiver could show nothing before.
    fn end_package(&mut self, now: Duration) {
        self.package = None;
        self.publisher.handle_unseen();
        if let Some(frame) = self.kept.take() {
            self.begin_frame(now, &frame);
        }
    }

    /// Notes that `count` frames were due but were never made.
    pub fn handle_missed(&mut self, count: u64) {
        self.publisher.handle_missed(count);
    }

    /// Ends the session with `close`, after the frames already begun are sent. No frame may follow.
    pub fn handle_end(&mut self, close: Close) {
        if self.phase == Phase::Live {
            self.publisher.handle_end();
            self.phase = Phase::Ending(close);
        }
    }

    /// Notes the number of the stream that [`SenderOutput::Open`] asked for.
    pub fn handle_opened(&mut self, stream: u64) {
        // While a package is sent, the session asks for no frame's stream; one that is being opened was requested
        // earlier.
        if let Some(current) = self.current.as_mut().filter(|current| current.stream.is_none()) {
            current.stream = Some(stream);
            self.sound_waits = 0;
            self.publisher.handle_opened(stream);
        } else if let Some(package) = &mut self.package {
            package.handle_opened(stream);
        }
    }

    /// Returns the bytes for [`SenderOutput::Write`]: two parts, in order.
    #[must_use]
    pub fn unwritten(&self) -> [Bytes; 2] {
        self.package.as_ref().map_or_else(|| self.publisher.unwritten(), PackageStream::unwritten)
    }

    /// Returns how many stream bytes the transport may hold, given the state of the path.
    #[must_use]
    pub fn room(&self, path: &PathStats) -> Room {
        let room = self.publisher.room(path);
        self.package.as_ref().map_or(room, |package| package.room(room))
    }

    /// Returns whether a base layer is unwritten. If so, the driver writes it before it takes the next frame; otherwise
    /// the next frame goes first.
    #[must_use]
    pub fn owes_base(&self) -> bool {
        self.publisher.owes_base()
    }

    /// Counts `count` bytes of [`SenderSession::unwritten`] that the transport accepted.
    pub fn handle_written(&mut self, now: Duration, count: usize, path: &PathStats) {
        match &mut self.package {
            Some(package) => package.handle_written(now, count),
            None => self.publisher.handle_written(now, count, path),
        }
    }

    /// Returns whether the session can use news of arrivals now. If so, call [`SenderSession::handle_settled`] for each
    /// stream of [`SenderSession::unsettled`] that arrived. Ask before [`SenderSession::handle_frame`] and before a
    /// write.
    #[must_use]
    pub fn wants_arrivals(&self, path: &PathStats) -> bool {
        path.retransmitted_bytes > 0 || self.publisher.sends_again(path)
    }

    /// Returns the finished streams that are not known to have arrived, oldest first.
    pub fn unsettled(&self) -> impl Iterator<Item = u64> {
        self.finished.unsettled()
    }

    /// Notes that all bytes of a finished stream arrived, or that the receiver stopped it.
    pub fn handle_settled(&mut self, stream: u64) {
        if self.phase == Phase::Ended {
            return;
        }
        if !self.finished.settle(stream) {
            // The transport drops its copy, which it kept only for lost packets that nobody needs now.
            self.outputs.push_back(SenderOutput::Reset(stream));
        }
        while let Some((frame, stream)) = self.finished.pop_settled() {
            self.publisher.handle_arrived(frame);
            self.outputs.push_back(SenderOutput::Release(stream));
        }
    }

    /// Returns the next action; `None` until the next input or [`SenderSession::poll_timeout`].
    pub fn poll(&mut self, now: Duration) -> Option<SenderOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if let Some(package) = &mut self.package {
            let output = package.poll(now);
            if package.is_whole() {
                self.end_package(now);
            }
            return output;
        }
        if !matches!(self.phase, Phase::Live | Phase::Ending(_)) {
            return None;
        }
        if self.current.is_some_and(|current| current.stream.is_none()) {
            // The transport is still opening its stream.
            return None;
        }
        match self.publisher.poll() {
            Some(step) => Some(self.step(step)),
            None => self.poll_end(),
        }
    }

    /// Returns when to poll again even without input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.package.as_ref().and_then(PackageStream::turn)
    }

    /// Carries out a step of the publisher.
    fn step(&mut self, step: Step) -> SenderOutput {
        match step {
            Step::Write => return SenderOutput::Write,
            Step::Open { frame } => {
                self.current = Some(Current { frame, stream: None });
                return SenderOutput::Open(Urgency::InTurn);
            }
            Step::Finish => self.finish_current(),
            Step::BaseRetransmission { first } => {
                self.reset_from(first);
                self.current = Some(Current { frame: first, stream: None });
                self.outputs.push_back(SenderOutput::FlightReset);
                self.outputs.push_back(SenderOutput::Open(Urgency::First));
            }
        }
        // Every branch above has pushed at least one output.
        self.outputs.pop_front().unwrap_or(SenderOutput::Write)
    }

    fn finish_current(&mut self) {
        let Some(Current { frame, stream: Some(stream) }) = self.current.take() else { return };
        self.outputs.push_back(SenderOutput::Finish(stream));
        if let Some(oldest) = self.finished.push(frame, stream) {
            self.outputs.push_back(SenderOutput::Release(oldest));
        }
    }

    /// Resets the streams of frames from `first` on.
    fn reset_from(&mut self, first: u64) {
        let current = self.current.take().and_then(|current| Some((current.frame, current.stream?)));
        let is_reset = current.filter(|(frame, _)| *frame >= first).map(|(_, stream)| stream);
        for stream in self.finished.take_from(first).chain(is_reset) {
            self.outputs.extend([SenderOutput::Reset(stream), SenderOutput::Release(stream)]);
        }
        if let Some((_, stream)) = current.filter(|_| is_reset.is_none()) {
            self.outputs.push_back(SenderOutput::Release(stream));
        }
    }

    /// Ends the session after all bytes are written and have arrived.
    fn poll_end(&mut self) -> Option<SenderOutput> {
        let Phase::Ending(close) = self.phase else { return None };
        if let Some(newest) = self.finished.newest_unsettled() {
            return (!std::mem::replace(&mut self.awaits_last, true)).then_some(SenderOutput::Await(newest));
        }
        self.end(SenderEnd::Over(close));
        self.outputs.pop_front()
    }

    fn violation(&mut self, why: &'static str) {
        self.refuse(Code::Violation, why);
    }

    fn refuse(&mut self, code: Code, why: &'static str) {
        self.end(SenderEnd::Refused(Close { code, why }));
    }

    fn end(&mut self, end: SenderEnd) {
        self.phase = Phase::Ended;
        self.package = None;
        self.outputs.clear();
        self.outputs.push_back(SenderOutput::Close(end));
    }
}

#[cfg(test)]
mod tests;
