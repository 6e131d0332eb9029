//! Both ends' sessions under any messages, streams, moments and answers of a driver.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use nestcast_proto::{
    Bitrate, BroadcastFrame, BroadcastName, Clock, Close, Code, DecoderKind, Frame, FrameHeader, FrameRate, Hello,
    LateHeader, MAX_OPEN_VIDEO_FRAMES, Message, ModelHeader, ModelRequest, Offer, PackageHash, ParityHeader, PathStats,
    RandomAccessFrame, RandomAccessRequest, ReceiverOutput, ReceiverSession, SenderOutput, SenderSession, Sound, Start,
    StreamHead, VersionRange, Video, Welcome,
};

use crate::bounded;

const PACKAGE: PackageHash = PackageHash([7; 32]);
const SIDES: [u32; 2] = [16, 16];
/// Bytes that a receiver keeps of a frame of this size (spec/session.md, section 9).
const KEPT_BYTES: usize = 65_536 + 4 * 16 * 16;
/// The most bytes that a session may hold at once: kept bytes of the open frames, of four streams with parity and of
/// late bytes, the messages and packages in a fuzzer's input, and the lists of its streams.
const MOST_HELD: usize = (MAX_OPEN_VIDEO_FRAMES + 12) * KEPT_BYTES + 2 * 1024 * 1024;
/// A session gives no more outputs at one moment than this: it does not loop.
const MOST_OUTPUTS: usize = 10_000;

/// What begins a stream.
#[derive(Debug, Arbitrary)]
enum Head {
    Frame { id: u8, skipped: u8, full: u16, base: u16 },
    Model { length: u16, is_asked_for: bool },
    Bases,
    Late { id: u8, offset: u16, full: u16 },
    Parity { stream: u8, length: u16, pieces: u8, block: u16 },
    Unknown(u64),
}

impl Head {
    fn encode(&self) -> Bytes {
        let head = match *self {
            Self::Frame { id, skipped, full, base } => StreamHead::Frame(FrameHeader {
                id: id.into(),
                skipped: u64::from(skipped).min(id.into()),
                captured: 0,
                full: full.into(),
                base: base.min(full).into(),
            }),
            Self::Model { length, is_asked_for } => StreamHead::Model(ModelHeader {
                package: if is_asked_for { PACKAGE } else { PackageHash([8; 32]) },
                length: length.into(),
            }),
            Self::Bases => StreamHead::Bases,
            Self::Late { id, offset, full } => {
                StreamHead::Late(LateHeader { id: id.into(), offset: offset.min(full).into(), full: full.into() })
            }
            Self::Parity { stream, length, pieces, block } => StreamHead::Parity(ParityHeader {
                stream: stream.into(),
                length: u64::from(length).max(1),
                pieces: u64::from(pieces) % 16 + 1,
                block: u64::from(block) % 4096 + 1,
            }),
            Self::Unknown(kind) => StreamHead::Unknown(kind % (1 << 62)),
        };
        head.encode()
    }
}

#[derive(Debug, Arbitrary)]
enum ToReceiver<'a> {
    Control(&'a [u8]),
    Welcome {
        is_video: bool,
    },
    Clock(u32),
    Ready,
    PackageMissing,
    PackageTaken,
    Said,
    Opened(u8),
    Head {
        stream: u8,
        head: Head,
    },
    /// Bytes of a stream after those that came, or `gap` further on.
    Bytes {
        stream: u8,
        gap: u16,
        bytes: &'a [u8],
    },
    /// Many bytes.
    Fill {
        stream: u8,
        count: u16,
    },
    End(u8),
    Undecoded(u8),
    Rtt(u16),
    Wait(u32),
    Sleep,
    Close,
}

/// Checks a receiver's session against any sender and driver. It never panics, says nothing after its close, shows
/// frames once and in order, stops streams that were opened, and holds bounded memory. Every wait that it asks for ends
/// in something.
pub fn receiver_session(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(may_fetch) = bool::arbitrary(&mut input) else { return };
    let events: Vec<ToReceiver<'_>> =
        std::iter::from_fn(|| (!input.is_empty()).then(|| input.arbitrary().ok())?).collect();
    bounded::within(MOST_HELD, "a receiver's session", || {
        let hello = Hello {
            versions: VersionRange::SPOKEN,
            token: Bytes::new(),
            max_bitrate: None,
            decoder: DecoderKind::Linear,
            broadcast: BroadcastName::default(),
            start: may_fetch.then_some(Start::BeforeNow(Duration::ZERO)),
        };
        let mut receiver = Receiver::new(ReceiverSession::new(hello, may_fetch));
        events.into_iter().for_each(|event| receiver.handle(event));
    });
}

struct Receiver {
    session: ReceiverSession,
    now: Duration,
    opened: BTreeSet<u64>,
    /// The bytes of each stream that were handed over.
    offsets: [u64; 256],
    shown: Option<u64>,
    has_ended: bool,
}

impl Receiver {
    fn new(session: ReceiverSession) -> Self {
        let opened = BTreeSet::new();
        Self { session, now: Duration::ZERO, opened, offsets: [0; 256], shown: None, has_ended: false }
    }

    fn bytes(&mut self, stream: u8, gap: u16, bytes: Bytes) {
        let offset = self.offsets[usize::from(stream)] + u64::from(gap);
        self.offsets[usize::from(stream)] = offset + bytes.len() as u64;
        self.session.handle_stream_bytes(self.now, stream.into(), offset, bytes);
    }

    fn handle(&mut self, event: ToReceiver<'_>) {
        match event {
            ToReceiver::Control(bytes) => self.session.handle_control_bytes(bytes),
            ToReceiver::Welcome { is_video } => {
                let video = is_video.then_some(Video::new([2; 6]));
                let [width, height] = SIDES;
                let welcome = Welcome {
                    model: [1; 6],
                    package: PACKAGE,
                    width,
                    height,
                    rate: FrameRate::new(30, 1).expect("a rate"),
                    video,
                };
                self.session.handle_control_bytes(&Message::Welcome { version: 1, welcome }.encode());
            }
            ToReceiver::Clock(micros) => {
                self.session.handle_control_bytes(&Message::Clock(Clock { micros: micros.into() }).encode());
            }
            ToReceiver::Ready => self.session.handle_ready(self.now),
            ToReceiver::PackageMissing => self.session.handle_package_missing(self.now),
            ToReceiver::PackageTaken => self.session.handle_package_taken(self.now),
            ToReceiver::Said => self.session.handle_said(),
            ToReceiver::Opened(stream) => {
                self.opened.insert(stream.into());
                self.session.handle_opened(stream.into());
            }
            ToReceiver::Head { stream, head } => self.bytes(stream, 0, head.encode()),
            ToReceiver::Bytes { stream, gap, bytes } => self.bytes(stream, gap, Bytes::copy_from_slice(bytes)),
            ToReceiver::Fill { stream, count } => self.bytes(stream, 0, vec![7; count.into()].into()),
            ToReceiver::End(stream) => self.session.handle_stream_end(self.now, stream.into()),
            ToReceiver::Undecoded(frame) => self.session.handle_undecoded(frame.into()),
            ToReceiver::Rtt(millis) => self.session.handle_rtt(Duration::from_millis(millis.into())),
            ToReceiver::Wait(micros) => self.now += Duration::from_micros(micros.into()),
            ToReceiver::Sleep => {
                if let Some(due) = self.session.poll_timeout() {
                    self.now = self.now.max(due);
                }
            }
            ToReceiver::Close => self.session.handle_close(),
        }
        self.drive();
    }

    fn drive(&mut self) {
        for count in 0.. {
            let Some(output) = self.session.poll(self.now) else { break };
            assert!(count < MOST_OUTPUTS, "it goes round in a circle");
            assert!(!self.has_ended, "nothing follows a close: {output:?}");
            match output {
                ReceiverOutput::Frame(frame) => {
                    assert!(self.shown.is_none_or(|shown| frame.header.id > shown), "frames are shown once, in order");
                    assert!(
                        frame.prefix.len() as u64 >= frame.header.base.min(KEPT_BYTES as u64),
                        "a frame has its base"
                    );
                    self.shown = Some(frame.header.id);
                }
                ReceiverOutput::More(more) => assert_eq!(Some(more.frame), self.shown, "more of what is shown"),
                ReceiverOutput::Stop(stream) | ReceiverOutput::ReadUnordered(stream) => {
                    assert!(self.opened.contains(&stream), "stream {stream} was never opened");
                }
                ReceiverOutput::Close(end) => {
                    assert!(!end.to_string().is_empty());
                    self.has_ended = true;
                }
                _ => {}
            }
        }
        let due = self.session.poll_timeout();
        assert!(due.is_none_or(|due| due > self.now), "what is due was given: {due:?} at {:?}", self.now);
    }
}

#[derive(Debug, Arbitrary)]
enum ToSender<'a> {
    Control(&'a [u8]),
    Hello {
        has_token: bool,
        cap: Option<u32>,
    },
    Asks {
        is_right: bool,
    },
    RandomAccessFrame(u8),
    Frame {
        length: u16,
        base: u8,
        has_random_access: bool,
    },
    Missed(u8),
    /// The path, as the transport sees it.
    Path {
        window: u16,
        in_flight: u16,
        rtt: u16,
        rate_drops: bool,
        retransmitted_bytes: bool,
    },
    /// The transport accepts at most this number of bytes.
    Takes(u16),
    Settled(u8),
    Wait(u16),
    Sleep,
    End,
}

/// Checks a sender's session against any receiver and driver. It never panics, says nothing after its close, and
/// welcomes only with the token. It writes to streams that are open, within the transport's room, and names no stream
/// that it released.
pub fn sender_session(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(is_video) = bool::arbitrary(&mut input) else { return };
    let events: Vec<ToSender<'_>> =
        std::iter::from_fn(|| (!input.is_empty()).then(|| input.arbitrary().ok())?).collect();
    bounded::within(64 * 65_536 + 2 * 1024 * 1024, "a sender's session", || {
        let video = is_video.then_some(Video::new([2; 6]));
        let [width, height] = SIDES;
        let welcome = Welcome {
            model: [1; 6],
            package: PACKAGE,
            width,
            height,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video,
        };
        let offer = Offer { welcome, package: Some(Bytes::from(vec![7; 5000])), sound: Some(Sound::Stereo) };
        let mut sender = Sender::new(SenderSession::new(Arc::new(offer), 0));
        events.into_iter().for_each(|event| sender.handle(event));
    });
}

struct Sender {
    session: SenderSession,
    now: Duration,
    path: PathStats,
    takes: usize,
    frames: u64,
    /// Streams that were opened and not released.
    streams: BTreeSet<u64>,
    opened: u64,
    is_admitted: bool,
    has_ended: bool,
}

impl Sender {
    fn new(session: SenderSession) -> Self {
        Self {
            session,
            now: Duration::ZERO,
            path: PathStats::default(),
            takes: 1200,
            frames: 0,
            streams: BTreeSet::new(),
            opened: 0,
            is_admitted: false,
            has_ended: false,
        }
    }

    fn say(&mut self, message: &Message) {
        self.session.handle_control_bytes(self.now, &message.encode());
    }

    fn handle(&mut self, event: ToSender<'_>) {
        match event {
            ToSender::Control(bytes) => self.session.handle_control_bytes(self.now, bytes),
            ToSender::Hello { has_token, cap } => {
                let token = Bytes::from_static(if has_token { b"secret" } else { b"guess" });
                let max_bitrate = cap.map(|bits| Bitrate::from_bits(bits.into()));
                let versions = VersionRange::SPOKEN;
                self.say(&Message::Hello(Hello {
                    versions,
                    token,
                    max_bitrate,
                    decoder: DecoderKind::Linear,
                    broadcast: BroadcastName::default(),
                    start: cap.map(|micros| Start::AfterBeginning(Duration::from_micros(micros.into()))),
                }));
            }
            ToSender::Asks { is_right } => {
                let package = if is_right { PACKAGE } else { PackageHash([8; 32]) };
                self.say(&Message::ModelRequest(ModelRequest { package }));
            }
            ToSender::RandomAccessFrame(lost) => {
                self.say(&Message::RandomAccessRequest(RandomAccessRequest { lost: lost.into() }))
            }
            ToSender::Frame { length, base, has_random_access } => {
                let bytes = Bytes::from(vec![7; length.into()]);
                let base = usize::from(base).min(bytes.len());
                let join = has_random_access.then(|| RandomAccessFrame { base, bytes: bytes.clone() });
                let id = self.frames;
                self.frames += 1;
                let frame = Frame { id, skipped: 0, captured: 0, since: id, base, bytes, join };
                self.session.handle_frame(self.now, &BroadcastFrame::from(frame), &self.path);
            }
            ToSender::Missed(count) => {
                self.frames += u64::from(count);
                self.session.handle_missed(count.into());
            }
            ToSender::Path { window, in_flight, rtt, rate_drops, retransmitted_bytes } => {
                self.path = PathStats {
                    window: u64::from(window).max(2400),
                    in_flight: in_flight.into(),
                    rtt: Duration::from_millis(rtt.into()),
                    min_rtt: Duration::from_millis(u64::from(rtt) / 2),
                    rate_drops: self.path.rate_drops + u64::from(rate_drops),
                    retransmitted_bytes: if retransmitted_bytes { 1200 } else { 0 },
                    delivered: self.path.delivered + u64::from(in_flight) / 2,
                    ..self.path
                };
            }
            ToSender::Takes(count) => self.takes = count.into(),
            ToSender::Settled(stream) => {
                let stream = u64::from(stream);
                if self.session.unsettled().any(|unsettled| unsettled == stream) {
                    self.session.handle_settled(stream);
                }
            }
            ToSender::Wait(millis) => self.now += Duration::from_millis(millis.into()),
            ToSender::Sleep => {
                if let Some(due) = self.session.poll_timeout() {
                    self.now = self.now.max(due);
                }
            }
            ToSender::End => self.session.handle_end(Close { code: Code::Done, why: "the broadcast ended" }),
        }
        self.drive();
    }

    fn drive(&mut self) {
        let mut takes = self.takes;
        for count in 0.. {
            let Some(output) = self.session.poll(self.now) else { return };
            assert!(count < MOST_OUTPUTS, "it goes round in a circle");
            assert!(!self.has_ended, "nothing follows a close: {output:?}");
            match output {
                SenderOutput::Hello(hello) if hello.token == "secret" => {
                    self.is_admitted = true;
                    self.session.handle_admitted(self.now, 0, None);
                }
                SenderOutput::Hello(_) => {}
                SenderOutput::Open(_) => {
                    assert!(self.is_admitted, "a receiver that is not admitted gets nothing");
                    self.streams.insert(self.opened);
                    self.session.handle_opened(self.opened);
                    self.opened += 1;
                }
                SenderOutput::Write => {
                    let room = self.session.room(&self.path);
                    let unwritten: usize = self.session.unwritten().iter().map(Bytes::len).sum();
                    assert!(!self.streams.is_empty() && room.held > 0, "there is a stream to write to");
                    let taken = takes.min(unwritten);
                    if taken == 0 && unwritten > 0 {
                        return;
                    }
                    takes -= taken;
                    self.session.handle_written(self.now, taken, &self.path);
                }
                SenderOutput::Finish(stream) | SenderOutput::Reset(stream) | SenderOutput::Await(stream) => {
                    assert!(self.streams.contains(&stream), "stream {stream} was released, or never opened");
                }
                SenderOutput::Release(stream) => {
                    assert!(self.streams.remove(&stream), "stream {stream} is released once")
                }
                SenderOutput::Close(_) => self.has_ended = true,
                _ => {}
            }
        }
    }
}
