//! The receiver's side of a session, from its hello to the close.

mod deadlines;
pub(crate) mod output;
mod package;
mod streams;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use self::deadlines::{Deadlines, NO_WELCOME};
use self::output::{ReceiverEnd, ReceiverOutput};
use self::package::PackageFetch;
use self::streams::{Arrival, FramePart, Streams};
use crate::subscribe::subscriber::{ReceiveStats, Subscriber};
use crate::wire::close::Close;
use crate::wire::control::Control;
use crate::wire::limits::{MAX_FRAME, MAX_HEAD_BYTES};
use crate::wire::message::{Hello, Message, ModelRequest, PackageHash, SoundRequest, Welcome};
use crate::wire::sound::Sound;
use crate::wire::start::Start;
use nestcast_units::Bitrate;

/// How much of a frame a receiver keeps: this many bytes, plus this many for each pixel. RGB noise takes 3 bytes for
/// each pixel, and any prefix is a picture.
const KEPT_BYTES: u64 = 64 * 1024;
const KEPT_BYTES_PER_PIXEL: u64 = 4;

/// The phase of the greeting.
#[derive(Debug)]
enum Greeting {
    Welcome,
    Clock(Welcome),
    /// Waits for the caller to find out whether it can show the broadcast.
    Answer(PackageHash),
    Done,
}

/// One connection to a sender, from the hello to the end. See the crate's example for the loop of a driver.
///
/// Times are [`Duration`]s since the session began, and never go back. After every input, call
/// [`ReceiverSession::poll`] until it returns `None`; call it again at [`ReceiverSession::poll_timeout`].
///
/// A session holds no more memory than section 9 of the specification allows, whatever the sender does. The transport
/// must allow at most [`MAX_STREAMS`](crate::MAX_STREAMS) streams at once.
#[derive(Debug)]
pub struct ReceiverSession {
    /// Whether the session may ask for a missing package.
    may_fetch: bool,
    max_bitrate: Option<Bitrate>,
    control: Control,
    greeting: Greeting,
    rtt: Duration,
    streams: Streams,
    fetch: Option<PackageFetch>,
    /// The announced sound.
    sound: Option<Sound>,
    /// Whether the hello asked for a start, and what the sender said to that.
    asks_start: bool,
    start: Option<Option<Start>>,
    /// Set once the welcome has come.
    subscriber: Option<Subscriber>,
    deadlines: Deadlines,
    outputs: VecDeque<ReceiverOutput>,
    /// Whether the connection ended: earlier frames are still shown.
    is_closed: bool,
    /// Whether this end ended the session.
    has_ended: bool,
}

impl ReceiverSession {
    /// Begins a session with `hello`, at time zero. `may_fetch` says whether it may ask the sender for a missing model
    /// package.
    #[must_use]
    pub fn new(hello: Hello, may_fetch: bool) -> Self {
        let (max_bitrate, asks_start) = (hello.max_bitrate, hello.start.is_some());
        let mut session = Self {
            may_fetch,
            max_bitrate,
            control: Control::default(),
            greeting: Greeting::Welcome,
            rtt: Duration::ZERO,
            streams: Streams::new(MAX_HEAD_BYTES),
            fetch: None,
            sound: None,
            asks_start,
            start: None,
            subscriber: None,
            deadlines: Deadlines::begin(asks_start),
            outputs: VecDeque::new(),
            is_closed: false,
            has_ended: false,
        };
        session.say(Duration::ZERO, &Message::Hello(hello), NO_WELCOME);
        session
    }

    /// Returns what came so far.
    #[must_use]
    pub fn stats(&self) -> ReceiveStats {
        self.subscriber.as_ref().map(Subscriber::stats).unwrap_or_default()
    }

    /// Sets the path's round-trip time; zero while it is unknown.
    pub const fn handle_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_round_trip(rtt);
        }
    }

    /// Notes that the transport accepted all bytes of the oldest pending [`ReceiverOutput::Say`].
    pub fn handle_said(&mut self) {
        self.deadlines.handle_said();
    }

    /// Processes bytes of the control stream, in order.
    pub fn handle_control_bytes(&mut self, bytes: &[u8]) {
        if self.has_ended {
            return;
        }
        self.control.handle_bytes(bytes);
        while !self.has_ended {
            match self.control.poll() {
                Ok(Some(message)) => self.handle_message(message),
                Ok(None) => return,
                Err(close) => self.end(ReceiverEnd::Violation(close)),
            }
        }
    }

    /// Notes that the caller can show the broadcast: the session uses frames from now on.
    pub fn handle_ready(&mut self, now: Duration) {
        if !matches!(self.greeting, Greeting::Answer(_)) {
            return;
        }
        self.greeting = Greeting::Done;
        self.deadlines.handle_frame(now);
    }

    /// Notes that the caller lacks the model package that the welcome named.
    pub fn handle_package_missing(&mut self, now: Duration) {
        let Greeting::Answer(package) = self.greeting else { return };
        if self.has_ended {
            return;
        }
        if !self.may_fetch {
            return self.end(ReceiverEnd::PackageMissing(package));
        }
        self.handle_ready(now);
        self.fetch = Some(PackageFetch::new(now, package));
        self.say(now, &Message::ModelRequest(ModelRequest { package }), "it takes no request for its model");
    }

    /// Notes that the package of [`ReceiverOutput::Package`] is right: the session uses frames from now on.
    pub fn handle_package_taken(&mut self, now: Duration) {
        if let Some(fetch) = &mut self.fetch {
            fetch.handle_taken();
            self.deadlines.handle_frame(now);
        }
    }

    /// Notes whether the caller plays sound from now on; the session tells the sender. It does nothing if the broadcast
    /// has no sound.
    pub fn handle_sound_wanted(&mut self, now: Duration, wanted: bool) {
        if self.sound.is_none() || self.has_ended {
            return;
        }
        self.streams.set_wants_sound(wanted);
        self.say(now, &Message::SoundRequest(SoundRequest { wanted }), "it takes no request for sound");
    }

    /// Notes that the caller could not use this frame of video, or frames that waited with it, so later frames cannot
    /// be decoded correctly.
    pub fn handle_undecoded(&mut self, frame: u64) {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_undecoded(frame);
        }
    }

    /// Notes that the sender opened the unidirectional stream of this number (RFC 9000, section 2.1). Report streams
    /// before their bytes, and in the order in which they were opened as far as the transport knows it.
    pub fn handle_opened(&mut self, stream: u64) {
        if !self.has_ended {
            self.streams.open(stream);
        }
    }

    /// Processes bytes of a stream that begin at `offset`. They must come in order until
    /// [`ReceiverOutput::ReadUnordered`]; the session ignores others.
    pub fn handle_stream_bytes(&mut self, now: Duration, stream: u64, offset: u64, bytes: Bytes) {
        if self.has_ended {
            return;
        }
        let broken = self.streams.handle_bytes(stream, offset, bytes, self.shows_frames()).err();
        self.take_arrivals(now);
        if let Some(close) = broken {
            self.end(ReceiverEnd::Violation(close));
        }
    }

    /// Notes that a stream ended or was reset: it brings nothing more.
    pub fn handle_stream_end(&mut self, now: Duration, stream: u64) {
        if !self.has_ended {
            self.streams.end(stream);
            self.take_arrivals(now);
        }
    }

    /// Notes that the connection ended. [`ReceiverSession::poll`] still returns frames that came earlier.
    pub const fn handle_close(&mut self) {
        self.is_closed = true;
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_close();
        }
    }

    /// Returns the next action; `None` until the next input or [`ReceiverSession::poll_timeout`].
    pub fn poll(&mut self, now: Duration) -> Option<ReceiverOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if self.has_ended {
            return None;
        }
        if let Some(output) = self.poll_frames(now) {
            return Some(output);
        }
        if self.is_closed {
            return None;
        }
        if let Some(request) =
            self.subscriber.as_mut().and_then(|subscriber| subscriber.poll_random_access_request(now))
        {
            self.say(now, &Message::RandomAccessRequest(request), "it takes no request for a join");
        } else if let Some(why) = self.late(now) {
            self.end(ReceiverEnd::Late(why));
        }
        self.outputs.pop_front()
    }

    /// Returns when to poll again even without input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let frames = self.subscriber.as_ref().and_then(Subscriber::poll_timeout);
        if self.has_ended {
            return None;
        }
        if self.is_closed {
            return frames;
        }
        let fetch = self.fetch.as_ref().and_then(PackageFetch::deadline);
        [frames, fetch, self.deadlines.next()].into_iter().flatten().min()
    }

    /// Returns whether frames are useful: the caller is ready and has the model.
    fn shows_frames(&self) -> bool {
        let is_ready = matches!(self.greeting, Greeting::Done);
        is_ready && !self.fetch.as_ref().is_some_and(PackageFetch::is_open)
    }

    fn handle_message(&mut self, message: Message) {
        self.greeting = match (std::mem::replace(&mut self.greeting, Greeting::Done), message) {
            (Greeting::Welcome, Message::Welcome { welcome, .. }) => {
                self.accept(&welcome);
                Greeting::Clock(welcome)
            }
            (Greeting::Clock(welcome), Message::Sound(sound)) if self.sound.is_none() => {
                self.sound = Some(sound);
                Greeting::Clock(welcome)
            }
            (Greeting::Clock(welcome), Message::Start(granted)) if self.asks_start && self.start.is_none() => {
                self.start = Some(granted);
                Greeting::Clock(welcome)
            }
            (Greeting::Clock(welcome), Message::Clock(clock)) => {
                let sender_clock = Duration::from_micros(clock.micros) + self.rtt / 2;
                let package = welcome.package;
                self.deadlines.end_greeting();
                self.outputs.extend(self.asks_start.then(|| ReceiverOutput::Start(self.start.flatten())));
                self.outputs.extend(self.sound.map(ReceiverOutput::SoundAnnounced));
                self.outputs.push_back(ReceiverOutput::Welcome { welcome, sender_clock });
                Greeting::Answer(package)
            }
            (Greeting::Welcome, _) => return self.violation("the first message is no welcome"),
            (Greeting::Clock(_), _) => return self.violation("no clock follows the welcome"),
            _ => return self.violation("a message came after the clock"),
        };
    }

    /// Prepares for the broadcast that a sender announced.
    fn accept(&mut self, welcome: &Welcome) {
        let kept = kept_bytes(welcome);
        let subscriber = Subscriber::new(welcome.interval(), kept);
        self.subscriber = Some(if welcome.video.is_some() { subscriber.of_video() } else { subscriber });
        self.streams.set_most_kept(usize::try_from(kept).unwrap_or(usize::MAX).saturating_add(MAX_HEAD_BYTES));
        self.deadlines.handle_interval(welcome.interval());
        self.handle_rtt(self.rtt);
    }

    /// Handles what streams brought.
    fn take_arrivals(&mut self, now: Duration) {
        while let Some(arrival) = self.streams.poll() {
            if let Err(close) = self.handle_arrival(now, arrival) {
                return self.end(ReceiverEnd::Violation(close));
            }
        }
    }

    fn handle_arrival(&mut self, now: Duration, arrival: Arrival) -> Result<(), Close> {
        match arrival {
            Arrival::Package(stream, header) => {
                let cap = self.max_bitrate;
                if !self.fetch.as_mut().is_some_and(|fetch| fetch.begin(now, stream, &header, cap)) {
                    return Err(Close::violation("a model came that was not asked for"));
                }
            }
            Arrival::PackageBytes(stream, bytes) => {
                if let Some(fetch) = &mut self.fetch {
                    fetch.handle_bytes(now, stream, &bytes)?;
                }
            }
            Arrival::PackageEnd(stream) => {
                let package = self.fetch.as_mut().map(|fetch| fetch.handle_end(stream)).transpose()?.flatten();
                self.outputs.extend(package.map(ReceiverOutput::Package));
            }
            Arrival::Sound(packet) => self.outputs.push_back(ReceiverOutput::Sound(packet)),
            Arrival::AnyOrder(stream) => self.outputs.push_back(ReceiverOutput::ReadUnordered(stream)),
            Arrival::Useless(stream) => self.outputs.push_back(ReceiverOutput::Stop(stream)),
            Arrival::Frame(part) => self.handle_frame_part(now, part)?,
        }
        Ok(())
    }

    fn handle_frame_part(&mut self, now: Duration, part: FramePart) -> Result<(), Close> {
        // Streams may overtake the welcome.
        let Some(subscriber) = &mut self.subscriber else { return Ok(()) };
        match part {
            FramePart::Head(header) => subscriber.handle_head(now, header)?,
            FramePart::Bytes(frame, bytes) => subscriber.handle_bytes(now, frame, &bytes)?,
            FramePart::End(frame) => subscriber.handle_end(frame),
            FramePart::Base(header, base) => subscriber.handle_base(now, header, &base),
            FramePart::Late(header, bytes) => {
                if subscriber.handle_late(header, &bytes)? {
                    self.deadlines.handle_frame(now);
                }
            }
        }
        Ok(())
    }

    /// Returns the next frame that is due, or more of the last one.
    fn poll_frames(&mut self, now: Duration) -> Option<ReceiverOutput> {
        let subscriber = self.subscriber.as_mut()?;
        if subscriber.is_before_first() {
            subscriber.set_may_lack_first(self.streams.may_lack_first_frame());
        }
        if let Some(frame) = subscriber.poll(now) {
            self.deadlines.handle_frame(now);
            return Some(ReceiverOutput::Frame(frame));
        }
        subscriber.poll_more(now).map(ReceiverOutput::More)
    }

    /// Returns what the sender is late with, if anything.
    fn late(&mut self, now: Duration) -> Option<&'static str> {
        if let Some(why) = self.deadlines.late_answer(now) {
            return Some(why);
        }
        if self.fetch.as_ref().and_then(PackageFetch::deadline).is_some_and(|until| now >= until) {
            return Some("its model did not come");
        }
        if !self.deadlines.lacks_frames(now) {
            return None;
        }
        // While the model comes no frame can be shown; the model has its own deadlines.
        if self.fetch.as_ref().is_some_and(PackageFetch::is_open) {
            self.deadlines.handle_frame(now);
            return None;
        }
        Some("no frame came")
    }

    /// Sends a message; `why` is the reason if the transport does not accept it in time.
    fn say(&mut self, now: Duration, message: &Message, why: &'static str) {
        self.deadlines.handle_say(now, why);
        self.outputs.push_back(ReceiverOutput::Say(message.encode()));
    }

    fn violation(&mut self, why: &'static str) {
        self.end(ReceiverEnd::Violation(Close::violation(why)));
    }

    fn end(&mut self, end: ReceiverEnd) {
        if !self.has_ended {
            self.has_ended = true;
            self.outputs.clear();
            self.outputs.push_back(ReceiverOutput::Close(end));
        }
    }
}

/// Returns how many bytes of a frame are kept.
fn kept_bytes(welcome: &Welcome) -> u64 {
    let pixels = u64::from(welcome.width) * u64::from(welcome.height);
    (KEPT_BYTES + KEPT_BYTES_PER_PIXEL * pixels).min(MAX_FRAME)
}

#[cfg(test)]
mod tests;
