//! The receiver's end of a session, from its hello to the close.

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
use crate::bitrate::Bitrate;
use crate::subscribe::subscriber::{ReceiveStats, Subscriber};
use crate::wire::close::Close;
use crate::wire::control::Control;
use crate::wire::limits::{MAX_FRAME, MAX_HEAD_BYTES};
use crate::wire::message::{Hello, Message, ModelRequest, PackageHash, Welcome};

/// A receiver keeps this many bytes of a frame, and this many more for each pixel. Noise takes 3 bytes for each pixel of RGB, and a
/// prefix is a picture.
const KEPT_BYTES: u64 = 64 * 1024;
const KEPT_BYTES_PER_PIXEL: u64 = 4;
/// Most frames in a second: no display shows more, and a player shows held pictures at this rate.
const MAX_FRAMES_PER_SECOND: u32 = 1000;

/// How far the greeting has come.
#[derive(Debug)]
enum Greeting {
    Welcome,
    Clock(Welcome),
    /// The caller finds out whether it can show the broadcast.
    Answer(PackageHash),
    Done,
}

/// One connection to a sender, from the hello to the end. See the crate's example for the loop of a driver.
///
/// Moments are [`Duration`]s since the session began; each call's is no earlier than the one before. After every input the driver
/// calls [`ReceiverSession::poll`] until it gives nothing, and again at [`ReceiverSession::poll_timeout`].
///
/// A sender can make a session hold no more than the specification's section 9 allows; the transport must grant it at most
/// [`MAX_STREAMS`](crate::MAX_STREAMS) streams at once.
#[derive(Debug)]
pub struct ReceiverSession {
    /// Whether a missing package may be asked for.
    may_fetch: bool,
    max_bitrate: Option<Bitrate>,
    control: Control,
    greeting: Greeting,
    rtt: Duration,
    streams: Streams,
    fetch: Option<PackageFetch>,
    /// From the welcome on.
    subscriber: Option<Subscriber>,
    deadlines: Deadlines,
    outputs: VecDeque<ReceiverOutput>,
    /// The connection ended: what came before is still shown.
    is_closed: bool,
    /// This end ended the session.
    has_ended: bool,
}

impl ReceiverSession {
    /// Begins a session with `hello`, at moment zero. `may_fetch`: whether it asks the sender for a missing model package.
    #[must_use]
    pub fn new(hello: Hello, may_fetch: bool) -> Self {
        let max_bitrate = hello.max_bitrate;
        let mut session = Self {
            may_fetch,
            max_bitrate,
            control: Control::default(),
            greeting: Greeting::Welcome,
            rtt: Duration::ZERO,
            streams: Streams::new(MAX_HEAD_BYTES),
            fetch: None,
            subscriber: None,
            deadlines: Deadlines::begin(),
            outputs: VecDeque::new(),
            is_closed: false,
            has_ended: false,
        };
        session.say(Duration::ZERO, &Message::Hello(hello), NO_WELCOME);
        session
    }

    /// What came so far.
    #[must_use]
    pub fn stats(&self) -> ReceiveStats {
        self.subscriber.as_ref().map(Subscriber::stats).unwrap_or_default()
    }

    /// The path's round trip is this now; zero while it is unknown.
    pub const fn handle_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_round_trip(rtt);
        }
    }

    /// The transport took all bytes of the oldest [`ReceiverOutput::Say`] that was not answered so.
    pub fn handle_said(&mut self) {
        self.deadlines.handle_said();
    }

    /// Bytes of the control stream came, in order.
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

    /// The caller can show the broadcast: frames are used from now on.
    pub fn handle_ready(&mut self, now: Duration) {
        if !matches!(self.greeting, Greeting::Answer(_)) {
            return;
        }
        self.greeting = Greeting::Done;
        self.deadlines.handle_frame(now);
    }

    /// The caller lacks the model package that the welcome named.
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

    /// The package of [`ReceiverOutput::Package`] is right: frames are used from now on.
    pub fn handle_package_taken(&mut self, now: Duration) {
        if let Some(fetch) = &mut self.fetch {
            fetch.handle_taken();
            self.deadlines.handle_frame(now);
        }
    }

    /// The caller could not use this frame of video, which it was given, or those that waited with it: what follows cannot be
    /// decoded as it should.
    pub fn handle_undecoded(&mut self, frame: u64) {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_undecoded(frame);
        }
    }

    /// The sender opened a unidirectional stream of this number (RFC 9000, section 2.1). Streams are to be told in the order in
    /// which they were opened, as far as the transport knows it, and before their bytes.
    pub fn handle_opened(&mut self, stream: u64) {
        if !self.has_ended {
            self.streams.open(stream);
        }
    }

    /// Bytes of a stream came, `offset` of its bytes stand before them. They must come in order until
    /// [`ReceiverOutput::ReadUnordered`] says otherwise; others are ignored.
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

    /// A stream ended, by its end or a reset: nothing more comes of it.
    pub fn handle_stream_end(&mut self, now: Duration, stream: u64) {
        if !self.has_ended {
            self.streams.end(stream);
            self.take_arrivals(now);
        }
    }

    /// The connection ended. [`ReceiverSession::poll`] gives what came before and was not shown yet.
    pub const fn handle_close(&mut self) {
        self.is_closed = true;
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.handle_close();
        }
    }

    /// What to do next; nothing until the next input or [`ReceiverSession::poll_timeout`].
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
        if let Some(request) = self.subscriber.as_mut().and_then(|subscriber| subscriber.poll_join_request(now)) {
            self.say(now, &Message::JoinRequest(request), "it takes no request for a join");
        } else if let Some(why) = self.late(now) {
            self.end(ReceiverEnd::Late(why));
        }
        self.outputs.pop_front()
    }

    /// When to poll again even if nothing comes.
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

    /// Frames are of use once the caller is ready and has the model.
    fn shows_frames(&self) -> bool {
        let is_ready = matches!(self.greeting, Greeting::Done);
        is_ready && !self.fetch.as_ref().is_some_and(PackageFetch::is_open)
    }

    fn handle_message(&mut self, message: Message) {
        self.greeting = match (std::mem::replace(&mut self.greeting, Greeting::Done), message) {
            (Greeting::Welcome, Message::Welcome { welcome, .. }) => match self.accept(&welcome) {
                Ok(()) => Greeting::Clock(welcome),
                Err(close) => return self.end(ReceiverEnd::Violation(close)),
            },
            (Greeting::Clock(welcome), Message::Clock(clock)) => {
                let sender_clock = Duration::from_micros(clock.micros) + self.rtt / 2;
                let package = welcome.package;
                self.deadlines.end_greeting();
                self.outputs.push_back(ReceiverOutput::Welcome { welcome, sender_clock });
                Greeting::Answer(package)
            }
            (Greeting::Welcome, _) => return self.violation("the first message is no welcome"),
            (Greeting::Clock(_), _) => return self.violation("no clock follows the welcome"),
            _ => return self.violation("a message came behind the clock"),
        };
    }

    /// Prepares for what a sender announced.
    fn accept(&mut self, welcome: &Welcome) -> Result<(), Close> {
        let (frames, seconds) = welcome.rate;
        if frames > seconds.saturating_mul(MAX_FRAMES_PER_SECOND) {
            return Err(Close::violation("a welcome announces more than 1000 frames a second"));
        }
        let kept = kept_bytes(welcome);
        let subscriber = Subscriber::new(welcome.interval(), kept);
        self.subscriber = Some(if welcome.video.is_some() { subscriber.of_video() } else { subscriber });
        self.streams.set_most_kept(usize::try_from(kept).unwrap_or(usize::MAX).saturating_add(MAX_HEAD_BYTES));
        self.deadlines.handle_interval(welcome.interval());
        self.handle_rtt(self.rtt);
        Ok(())
    }

    /// Hands on what streams brought.
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

    /// The next frame that is due, or more of the last one.
    fn poll_frames(&mut self, now: Duration) -> Option<ReceiverOutput> {
        let subscriber = self.subscriber.as_mut()?;
        if let Some(frame) = subscriber.poll(now) {
            self.deadlines.handle_frame(now);
            return Some(ReceiverOutput::Frame(frame));
        }
        subscriber.poll_more(now).map(ReceiverOutput::More)
    }

    /// What the sender is late with, if with anything.
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
        // While the model comes no frame can be shown; the model has deadlines of its own.
        if self.fetch.as_ref().is_some_and(PackageFetch::is_open) {
            self.deadlines.handle_frame(now);
            return None;
        }
        Some("no frame came")
    }

    /// Says a message; `why`: what is said of a sender that does not take it.
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

/// Bytes of a frame that are kept.
fn kept_bytes(welcome: &Welcome) -> u64 {
    let pixels = u64::from(welcome.width) * u64::from(welcome.height);
    (KEPT_BYTES + KEPT_BYTES_PER_PIXEL * pixels).min(MAX_FRAME)
}

#[cfg(test)]
mod tests;
