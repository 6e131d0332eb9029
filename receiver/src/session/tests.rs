//! Sessions over a test transport, in virtual time. However a sender makes its receiver wait, the wait ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use nestcast_proto::{
    Bitrate, BroadcastName, Clock, DecoderKind, FrameHeader, FrameRate, MAX_MODEL, Message, ModelHeader, PackageHash,
    RandomAccessRequest, ReceiveStats, ReceivedFrame, ReceiverEnd, StreamHead, VersionRange, Video,
};
use tokio::time::sleep;

use super::*;
use crate::transport::{Incoming, Outgoing, Scattered};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);

const KNOWN: [u8; 6] = [1; 6];
const MISSING: [u8; 6] = [9; 6];
const PACKAGE: PackageHash = PackageHash([9; 32]);

/// A sink with one model; it refuses another by the name of its package.
#[derive(Default)]
struct Judge {
    /// Frames that it got.
    frames: u64,
    /// The first frame that it could not decode.
    lost: Option<u64>,
}

impl FrameSink for Judge {
    type Error = &'static str;

    async fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Readiness, &'static str> {
        Ok(if welcome.model == MISSING { Readiness::NeedsPackage } else { Readiness::Ready })
    }

    async fn handle_package(&mut self, package: Bytes) -> Result<(), &'static str> {
        if package == "sound" { Ok(()) } else { Err("the package is refused") }
    }

    fn handle_frame(&mut self, _frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), &'static str> {
        self.frames += 1;
        Ok(())
    }

    fn lost(&mut self) -> Option<u64> {
        if self.frames > 0 { self.lost.take() } else { None }
    }
}

/// A sender's stream: each part arrives this long after the one before.
#[derive(Default)]
struct Script {
    parts: VecDeque<(Duration, Bytes)>,
    ends: bool,
    /// Its number, and the parts that arrived out of order.
    number: u64,
    scattered: VecDeque<(u64, Bytes)>,
}

impl Script {
    fn at_once(bytes: impl Into<Bytes>) -> Self {
        Self { parts: [(Duration::ZERO, bytes.into())].into(), ends: true, ..Self::default() }
    }

    /// Whether nothing follows, not even an end.
    fn open(self) -> Self {
        Self { ends: false, ..self }
    }

    fn then(mut self, after: Duration, bytes: impl Into<Bytes>) -> Self {
        self.parts.push_back((after, bytes.into()));
        self
    }
}

impl Incoming for Script {
    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        match self.parts.pop_front() {
            Some((after, bytes)) => {
                sleep(after).await;
                Ok(Some(bytes))
            }
            None if self.ends => Ok(None),
            None => std::future::pending().await,
        }
    }
}

impl Scattered for Script {
    fn number(&self) -> u64 {
        self.number
    }

    async fn read_scattered(&mut self) -> Result<Option<(u64, Bytes)>, Error> {
        match self.scattered.pop_front() {
            Some(part) => Ok(Some(part)),
            None => std::future::pending().await,
        }
    }
}

/// A scripted sender: its messages on the control stream, if it allows one, and its streams.
struct Sender {
    control: Mutex<Option<Script>>,
    streams: tokio::sync::Mutex<Script>,
    scripts: Mutex<VecDeque<Script>>,
    takes_requests: bool,
    /// Whether the connection ends when the receiver sends something after its hello.
    is_gone: bool,
    /// The receiver's messages after its hello.
    said: Arc<Mutex<Vec<Bytes>>>,
    /// When the receiver closes the connection, and why.
    closes: Option<(Duration, Code)>,
    close: Mutex<Option<Close>>,
}

impl Sender {
    fn new(control: Option<Script>, scripts: impl Into<VecDeque<Script>>) -> Self {
        let control = Mutex::new(control);
        let scripts = Mutex::new(scripts.into());
        let streams = tokio::sync::Mutex::default();
        let close = Mutex::default();
        Self {
            control,
            streams,
            scripts,
            takes_requests: true,
            is_gone: false,
            said: Arc::default(),
            closes: None,
            close,
        }
    }
}

/// The sender's end of the control stream.
struct Ear {
    greeted: bool,
    takes_requests: bool,
    is_gone: bool,
    said: Arc<Mutex<Vec<Bytes>>>,
}

impl Outgoing for Ear {
    async fn write(&mut self, bytes: &mut Bytes) -> Result<(), Error> {
        if self.greeted && !self.takes_requests {
            return std::future::pending().await;
        }
        let message = std::mem::take(bytes);
        if std::mem::replace(&mut self.greeted, true) {
            self.said.lock().expect("no panic").push(message);
            if self.is_gone {
                return Err(Error::Closed(Code::Done));
            }
        }
        Ok(())
    }
}

impl Connection for Sender {
    type Outgoing = Ear;
    type Incoming = Script;

    async fn open_control(&self) -> Result<(Ear, Script), Error> {
        let control = self.control.lock().expect("no panic").take();
        let takes_requests = self.takes_requests;
        let is_gone = self.is_gone;
        let said = Arc::clone(&self.said);
        match control {
            Some(control) => Ok((Ear { greeted: false, takes_requests, is_gone, said }, control)),
            None => std::future::pending().await,
        }
    }

    async fn accept(&self) -> Result<Script, Error> {
        let _turn = self.streams.lock().await;
        let (script, left) = {
            let mut scripts = self.scripts.lock().expect("no panic");
            (scripts.pop_front(), scripts.len())
        };
        match script {
            // Each stream has its own number.
            Some(script) => Ok(Script { number: u64::MAX - left as u64, ..script }),
            None => std::future::pending().await,
        }
    }

    async fn closed(&self) -> Error {
        let Some((after, code)) = self.closes else { return std::future::pending().await };
        sleep(after).await;
        Error::Closed(code)
    }

    fn rtt(&self) -> Duration {
        Duration::ZERO
    }

    fn close(&self, close: Close) {
        *self.close.lock().expect("no panic") = Some(close);
    }
}

fn per_second(frames: u32) -> FrameRate {
    FrameRate::new(frames, 1).expect("a rate")
}

fn welcome_at(model: [u8; 6], rate: FrameRate) -> Bytes {
    announce(model, rate, None)
}

/// Returns a welcome, and the clock after it.
fn announce(model: [u8; 6], rate: FrameRate, video: Option<Video>) -> Bytes {
    let welcome = Welcome { model, package: PACKAGE, width: 64, height: 48, rate, video };
    [Message::Welcome { version: 1, welcome }.encode(), Message::Clock(Clock { micros: 7 }).encode()].concat().into()
}

fn welcome(model: [u8; 6]) -> Option<Script> {
    Some(Script::at_once(welcome_at(model, per_second(10))).open())
}

fn model_head(length: u64) -> Bytes {
    StreamHead::Model(ModelHeader { package: PACKAGE, length }).encode()
}

/// Returns a frame that is no stream of the codec.
fn frame(id: u64) -> Script {
    let head = StreamHead::Frame(FrameHeader { id, skipped: 0, captured: 0, full: 4, base: 1 }).encode();
    Script::at_once([&head[..], b"junk"].concat())
}

/// Runs a session to its end; returns why it ended, the code that the sender got, and how long it took.
async fn meet(sender: &Sender) -> (Error, Code, Duration) {
    meet_with(sender, None, &mut Judge::default()).await
}

async fn meet_with(sender: &Sender, max_bitrate: Option<Bitrate>, sink: &mut Judge) -> (Error, Code, Duration) {
    let began = Instant::now();
    let versions = VersionRange::SPOKEN;
    let decoder = DecoderKind::Linear;
    let hello =
        Hello { versions, token: Bytes::new(), max_bitrate, decoder, broadcast: BroadcastName::default(), start: None };
    let Ended { error, .. } = run(sender, hello, true, &Place::new(None), sink).await;
    let took = began.elapsed();
    let code = sender.close.lock().expect("no panic").expect("the sender is told").code;
    (error, code, took)
}

/// Runs a session with a sender that is too slow; returns how long the receiver waited.
async fn slow(sender: &Sender) -> Duration {
    let (error, code, took) = meet(sender).await;
    assert!(matches!(error, Error::Session(ReceiverEnd::Late(_))) && code == Code::Slow, "{error}");
    took
}

/// Runs a session with a sender that breaks a rule; returns which one.
async fn rude(sender: &Sender) -> &'static str {
    let (error, code, _) = meet(sender).await;
    assert_eq!(code, Code::Violation, "{error}");
    let Error::Session(ReceiverEnd::Violation(close)) = error else { panic!("{error}") };
    close.why
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_says_nothing_is_left() {
    let no_welcome = Some(Script::at_once(&b"\x02"[..]).open());
    for control in [None, no_welcome, Some(Script::at_once(Bytes::new()))] {
        assert_eq!(slow(&Sender::new(control, [])).await, ANSWER_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_known_when_it_comes_though_the_control_stream_ended_before_it() {
    let late = Duration::from_millis(100);
    let ended = Some(Script::at_once(Bytes::new()));
    let full = Sender { closes: Some((late, Code::Full)), ..Sender::new(ended, []) };
    let (error, _, took) = meet(&full).await;
    assert!(matches!(error, Error::Closed(Code::Full)) && took == late, "{error} after {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sender_without_frames_is_left() {
    assert_eq!(slow(&Sender::new(welcome(KNOWN), [])).await, FRAME_TIMEOUT + Duration::from_millis(400));
    let unfinished = frame(1).open().then(Duration::ZERO, Bytes::new());
    let heads = [Script::at_once(&b"\0"[..]).open(), unfinished];
    let took = slow(&Sender::new(welcome(KNOWN), heads)).await;
    assert!(took >= FRAME_TIMEOUT && took < 2 * FRAME_TIMEOUT, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn of_video_a_frame_that_does_not_come_makes_its_receiver_ask_for_a_join() {
    let video = Some(Video::new([2; 6]));
    for (video, asks) in
        [(video, vec![Message::RandomAccessRequest(RandomAccessRequest { lost: 2 }).encode()]), (None, Vec::new())]
    {
        let control = Some(Script::at_once(announce(KNOWN, per_second(10), video)).open());
        let sender = Sender::new(control, [0, 1, 3, 4].map(frame));
        slow(&sender).await;
        assert_eq!(*sender.said.lock().expect("no panic"), asks);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sender_whose_clock_does_not_come_is_left() {
    let rate = per_second(10);
    let welcome = Welcome { model: KNOWN, package: PACKAGE, width: 64, height: 48, rate, video: None };
    let silent = Some(Script::at_once(Message::Welcome { version: 1, welcome }.encode()).open());
    assert_eq!(slow(&Sender::new(silent, [])).await, ANSWER_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_come_is_not_waited_for() {
    let deaf = Sender { takes_requests: false, ..Sender::new(welcome(MISSING), []) };
    assert_eq!(slow(&deaf).await, ANSWER_TIMEOUT);
    let frames: Vec<_> = (0..40).map(frame).collect();
    assert_eq!(slow(&Sender::new(welcome(MISSING), frames)).await, Duration::from_secs(10), "frames are no model");
    let stalls = Script::at_once(model_head(1000)).open().then(Duration::from_secs(9), &b"s"[..]);
    assert_eq!(slow(&Sender::new(welcome(MISSING), [stalls])).await, Duration::from_secs(19));
    let mut trickles = Script::at_once(model_head(MAX_MODEL)).open();
    for _ in 0..1000 {
        trickles = trickles.then(Duration::from_secs(9), &b"s"[..]);
    }
    let whole = Duration::from_secs(30 + MAX_MODEL / 8192);
    assert_eq!(slow(&Sender::new(welcome(MISSING), [trickles])).await, whole);
}

#[tokio::test(start_paused = true)]
async fn a_model_takes_as_long_as_it_may_at_the_receivers_cap() {
    for (cap, bytes_a_second) in [(1_000_000, 8192), (64_000, 4000), (8000, 500)] {
        let mut trickles = Script::at_once(model_head(1_000_000)).open();
        for _ in 0..1000 {
            trickles = trickles.then(Duration::from_secs(9), &b"s"[..]);
        }
        let sender = Sender::new(welcome(MISSING), [trickles]);
        let (error, _, took) = meet_with(&sender, Some(Bitrate::from_bits(cap)), &mut Judge::default()).await;
        assert!(matches!(error, Error::Session(ReceiverEnd::Late(_))), "{error}");
        assert_eq!(took, Duration::from_secs(30 + 1_000_000 / bytes_a_second), "a cap of {cap}");
    }
}

#[tokio::test(start_paused = true)]
async fn frames_that_came_are_handed_over_though_a_request_meets_the_connections_end() {
    let control = Some(Script::at_once(announce(KNOWN, per_second(10), Some(Video::new([2; 6])))).open());
    let sender = Sender { is_gone: true, ..Sender::new(control, [0, 1, 2, 3, 4].map(frame)) };
    let mut sink = Judge { lost: Some(0), ..Judge::default() };
    let (error, ..) = meet_with(&sender, None, &mut sink).await;
    let asks = Message::RandomAccessRequest(RandomAccessRequest { lost: 0 }).encode();
    assert_eq!(*sender.said.lock().expect("no panic"), [asks]);
    let left = sender.scripts.lock().expect("no panic").len() as u64;
    assert!(matches!(error, Error::Closed(Code::Done)) && left < 4, "{error}, {left} left");
    assert_eq!(sink.frames, 5 - left, "every frame of which a stream came");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_refused_ends_the_session_with_its_reason_though_nothing_else_comes() {
    let refused = Script::at_once([&model_head(5)[..], b"rogue"].concat());
    let (error, code, _) = meet(&Sender::new(welcome(MISSING), [refused])).await;
    assert_eq!((error.to_string().as_str(), code), ("the package is refused", Code::Model));
    let taken = Script::at_once([&model_head(5)[..], b"sound"].concat());
    assert!(slow(&Sender::new(welcome(MISSING), [taken])).await >= FRAME_TIMEOUT, "then frames are waited for");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_was_not_asked_for_is_refused_at_its_head_and_so_is_a_second_one() {
    let unasked = Script::at_once(model_head(MAX_MODEL)).open();
    let why = rude(&Sender::new(welcome(KNOWN), [unasked])).await;
    assert!(why.contains("not asked for"), "{why}");
    let twice = [(); 2].map(|()| Script::at_once(model_head(MAX_MODEL)).open());
    let why = rude(&Sender::new(welcome(MISSING), twice)).await;
    assert!(why.contains("not asked for"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_package_has_the_length_that_its_head_says() {
    for (length, bytes, why) in [(4, b"rogue", "longer"), (6, b"rogue", "shorter")] {
        let lie = Script::at_once([&model_head(length)[..], bytes].concat());
        let told = rude(&Sender::new(welcome(MISSING), [lie])).await;
        assert!(told.contains(why), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sender_says_welcome_once_and_announces_a_rate_that_can_be_shown() {
    let twice = [welcome_at(KNOWN, per_second(10)), welcome_at(KNOWN, per_second(10))].concat();
    assert!(rude(&Sender::new(Some(Script::at_once(twice)), [])).await.contains("after the clock"));
    // No sender can announce such a rate by this crate, so the message is changed: 1000 and 1001 as varints.
    let mut fast = welcome_at(KNOWN, per_second(1000)).to_vec();
    let at = fast.windows(3).position(|bytes| bytes == [0x43, 0xE8, 1]).expect("the rate");
    fast[at + 1] += 1;
    let fast = Some(Script::at_once(fast).open());
    assert!(rude(&Sender::new(fast, [])).await.contains("1000 frames a second"));
}
