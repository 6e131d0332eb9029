//! A receiver's side of a connection under any order of heads, bytes, ends and moments.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use nestcast_proto::{FrameHeader, LateHeader, MAX_OPEN_VIDEO_FRAMES, More, ReceivedFrame, StreamHead, Subscriber};

use crate::bounded;

/// The most bytes that are kept of a frame.
const MAX_FRAME: usize = 20_000;
/// How often a receiver may ask for a join.
const RANDOM_ACCESS_REQUESTS: Duration = Duration::from_secs(1);

#[derive(Debug, Arbitrary)]
enum Event {
    /// A frame's head, near the newest one.
    Head {
        step: i8,
        skipped: u8,
        full: u16,
        base: u16,
    },
    /// A head with any numbers.
    FarHead {
        id: u64,
        skipped: u64,
        full: u64,
        base: u64,
    },
    /// Bytes of one of the last frames.
    Bytes {
        which: u8,
        count: u16,
    },
    End {
        which: u8,
    },
    /// The base of one of the last frames came again.
    Base {
        which: u8,
    },
    RoundTrip {
        micros: u32,
    },
    Wait {
        micros: u32,
    },
    /// Waits for as long as the subscriber asks for.
    Sleep,
    Close,
}

#[derive(Debug, Arbitrary)]
enum LiveEvent {
    Frame(Event),
    /// Late bytes of a frame near the newest one, with any place and any count.
    Late {
        step: i8,
        offset: u32,
        full: u32,
        count: u16,
    },
    /// Late bytes of one of the last frames. They begin at a distance from the end of the bytes given of the shown
    /// frame.
    LateNear {
        which: u8,
        ahead: i8,
        count: u16,
    },
    /// The decoder lost one of the last frames.
    Undecoded {
        which: u8,
    },
}

/// Checks a subscriber for frames that arrive in any way. It shows frames in order and once, each a prefix of the sent
/// frame with at least its base. The counts add up, and no more frames are open than allowed. After every wait that it
/// asks for something happens. Memory grows with the bytes that came and with nothing else.
///
/// The input: frames and seconds of a welcome's rate, then the events.
pub fn subscriber(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((frames, seconds)) = input.arbitrary::<(u16, u8)>() else { return };
    // Open frames, one shown frame and its late bytes, bytes that come, and this target's notes of each event.
    let most = (MAX_OPEN_VIDEO_FRAMES + 4) * MAX_FRAME + 2 * usize::from(u16::MAX) + 256 * data.len() + 4096;
    bounded::within(most, "receiving frames", || {
        let mut driver = Driver::new(interval(frames, seconds), false);
        while !input.is_empty() {
            let Ok(event) = input.arbitrary() else { break };
            if driver.handle(&event).is_none() {
                return;
            }
        }
        driver.end();
    });
}

/// Checks the same with late bytes that lie about their frame, place and length. They continue after the given bytes of
/// the shown picture, with its own bytes and no more than are kept. In video they break the rules. For video the
/// subscriber asks for a join at most once a second, for a frame that an event named.
///
/// The input: whether it is video, frames and seconds of a welcome's rate, then the events.
pub fn subscriber_live(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((video, frames, seconds)) = input.arbitrary::<(bool, u16, u8)>() else { return };
    // As above, with late bytes that are ready and that wait, each in memory that doubled.
    let most = (MAX_OPEN_VIDEO_FRAMES + 8) * MAX_FRAME + 2 * usize::from(u16::MAX) + 256 * data.len() + 4096;
    bounded::within(most, "receiving late bytes", || {
        let mut driver = Driver::new(interval(frames, seconds), video);
        while !input.is_empty() {
            let Ok(event) = input.arbitrary() else { break };
            if driver.handle_live(&event).is_none() {
                return;
            }
        }
        driver.end();
    });
}

/// Any rate that a welcome may state has an interval of 1 us to 11 days; events reach a few minutes.
fn interval(frames: u16, seconds: u8) -> Duration {
    Duration::from_secs(u64::from(seconds) + 1) / (u32::from(frames) + 1)
}

struct Driver {
    subscriber: Subscriber,
    video: bool,
    now: Duration,
    /// The bytes of each frame whose head came: its head and its bytes so far.
    sent: BTreeMap<u64, (FrameHeader, usize)>,
    /// The ids in the order of their heads.
    ids: Vec<u64>,
    /// The frames whose base came again.
    again: BTreeSet<u64>,
    last: Option<u64>,
    /// The bytes of the last frame that were given out.
    given: usize,
    /// The moment at which a join was asked for.
    asked: Option<Duration>,
    bytes: u64,
    useful: u64,
    shown: u64,
}

/// Returns a frame's byte at a position.
fn pattern(id: u64, at: usize) -> u8 {
    let [low, next, ..] = id.to_le_bytes();
    low.wrapping_mul(31).wrapping_add(next).wrapping_add(at.to_le_bytes()[0])
}

impl Driver {
    fn new(interval: Duration, video: bool) -> Self {
        let subscriber = Subscriber::new(interval, MAX_FRAME as u64);
        Self {
            subscriber: if video { subscriber.of_video() } else { subscriber },
            video,
            now: Duration::ZERO,
            sent: BTreeMap::new(),
            ids: Vec::new(),
            again: BTreeSet::new(),
            last: None,
            given: 0,
            asked: None,
            bytes: 0,
            useful: 0,
            shown: 0,
        }
    }

    /// Returns `None` if the peer broke a rule.
    fn handle(&mut self, event: &Event) -> Option<()> {
        match *event {
            Event::Head { step, skipped, full, base } => {
                let newest = self.ids.last().copied().unwrap_or(200);
                let id = newest.saturating_add_signed(step.into());
                let skipped = id / 2 + u64::from(skipped);
                self.head(FrameHeader { id, skipped, captured: 7, full: full.into(), base: base.into() })?;
            }
            Event::FarHead { id, skipped, full, base } => {
                self.head(FrameHeader { id, skipped, captured: 7, full: full % (1 << 25), base: base % (1 << 25) })?;
            }
            Event::Bytes { which, count } => self.bytes(which, count.into())?,
            Event::End { which } => {
                if let Some(id) = self.id(which) {
                    self.subscriber.handle_end(id);
                }
            }
            Event::Base { which } => self.base(which),
            Event::RoundTrip { micros } => self.subscriber.handle_round_trip(Duration::from_micros(micros.into())),
            Event::Wait { micros } => self.now += Duration::from_micros(micros.into()),
            Event::Sleep => self.sleep(),
            Event::Close => self.subscriber.handle_close(),
        }
        self.poll();
        Some(())
    }

    /// Handles a live event as [`Self::handle`] does.
    fn handle_live(&mut self, event: &LiveEvent) -> Option<()> {
        match event {
            LiveEvent::Frame(event) => return self.handle(event),
            &LiveEvent::Late { step, offset, full, count } => {
                let newest = self.ids.last().copied().unwrap_or(200);
                let id = newest.saturating_add_signed(step.into());
                self.late(LateHeader { id, offset: offset.into(), full: full.into() }, count.into())?;
            }
            &LiveEvent::LateNear { which, ahead, count } => {
                let offset = (self.given as u64).saturating_add_signed(64 * i64::from(ahead));
                let Some(id) = self.id(which) else { return Some(()) };
                self.late(LateHeader { id, offset, full: 1 << 20 }, count.into())?;
            }
            &LiveEvent::Undecoded { which } => {
                if let Some(id) = self.id(which) {
                    self.subscriber.handle_undecoded(id);
                }
            }
        }
        self.poll();
        Some(())
    }

    /// Hands over late bytes through the wire, as below.
    fn late(&mut self, header: LateHeader, count: usize) -> Option<()> {
        let wire = StreamHead::Late(header).encode();
        let Ok(Some((StreamHead::Late(header), _))) = StreamHead::parse(&wire) else { return Some(()) };
        let from = usize::try_from(header.offset).expect("at most 2^24");
        let bytes: Vec<u8> = (from..from + count).map(|at| pattern(header.id, at)).collect();
        let handled = self.subscriber.handle_late(header, &bytes);
        assert_eq!(handled.is_err(), self.video, "video has no late bytes");
        assert_eq!(handled.ok()?, self.last == Some(header.id), "whether it is the picture that is shown");
        self.bytes += count as u64;
        Some(())
    }

    /// Hands over a head through bytes of the wire, which refuse what no head may say.
    fn head(&mut self, header: FrameHeader) -> Option<()> {
        let wire = StreamHead::Frame(header).encode();
        let Ok(Some((StreamHead::Frame(header), _))) = StreamHead::parse(&wire) else { return Some(()) };
        self.subscriber.handle_head(self.now, header).ok()?;
        // The subscriber accepts a late frame's head and shows nothing of it, so the first one counts.
        self.sent.entry(header.id).or_insert((header, 0));
        self.ids.push(header.id);
        Some(())
    }

    fn id(&self, which: u8) -> Option<u64> {
        self.ids.iter().rev().nth(usize::from(which) % 32).copied()
    }

    /// Hands over a base as `Bases` gives it: whole, and no longer than a base that comes again may be.
    fn base(&mut self, which: u8) {
        let Some((header, _)) = self.id(which).and_then(|id| self.sent.get(&id).copied()) else { return };
        let Some(length) = usize::try_from(header.base).ok().filter(|&length| length <= MAX_FRAME) else { return };
        let base: Vec<u8> = (0..length).map(|at| pattern(header.id, at)).collect();
        self.bytes += header.base;
        self.subscriber.handle_base(self.now, header, &base);
        self.again.insert(header.id);
    }

    fn bytes(&mut self, which: u8, count: usize) -> Option<()> {
        let Some(id) = self.id(which) else { return Some(()) };
        let (_, length) = self.sent.get_mut(&id)?;
        let bytes: Vec<u8> = (*length..*length + count).map(|at| pattern(id, at)).collect();
        self.bytes += count as u64;
        *length += count;
        self.subscriber.handle_bytes(self.now, id, &bytes).ok()
    }

    /// Waits for as long as the subscriber asks; then a frame is shown or given up.
    fn sleep(&mut self) {
        let Some(due) = self.subscriber.poll_timeout() else { return };
        assert!(due > self.now, "it is polled until nothing is due");
        self.now = due;
        let before = self.subscriber.stats();
        self.poll();
        assert_ne!(before, self.subscriber.stats(), "it asked for a moment at which nothing happens");
    }

    fn poll(&mut self) {
        for polls in 0.. {
            assert!(polls <= MAX_OPEN_VIDEO_FRAMES, "more frames than may be open");
            let Some(frame) = self.subscriber.poll(self.now) else { break };
            self.show(&frame);
        }
        if let Some(more) = self.subscriber.poll_more(self.now) {
            self.show_more(&more);
        }
        self.ask_random_access();
        let due = self.subscriber.poll_timeout();
        assert!(due.is_none_or(|due| due > self.now), "{due:?} has passed, and nothing came of it");
        let received = self.subscriber.stats();
        assert_eq!((received.bytes, received.useful, received.shown), (self.bytes, self.useful, self.shown));
    }

    fn show(&mut self, frame: &ReceivedFrame) {
        let header = frame.header;
        assert!(self.last.is_none_or(|last| last < header.id), "frames are shown in order");
        self.last = Some(header.id);
        let (sent, length) = self.sent.get(&header.id).expect("a frame whose head came");
        assert_eq!(*sent, header);
        let count = frame.prefix.len();
        let came = (*length as u64).max(if self.again.contains(&header.id) { header.base } else { 0 });
        let count = count as u64;
        assert!(
            count <= came && count >= header.base.min(MAX_FRAME as u64) && count <= header.full,
            "{count} of {came}"
        );
        assert!(frame.prefix.iter().enumerate().all(|(at, &byte)| byte == pattern(header.id, at)), "its own bytes");
        assert!(frame.first <= frame.shown && frame.shown == self.now);
        self.given = frame.prefix.len();
        self.useful += count;
        self.shown += 1;
    }

    fn show_more(&mut self, more: &More) {
        assert!(!self.video && self.last == Some(more.frame) && !more.bytes.is_empty(), "{more:?}");
        let own = |(at, &byte): (usize, &u8)| byte == pattern(more.frame, self.given + at);
        assert!(more.bytes.iter().enumerate().all(own), "its own bytes, after those before");
        self.given += more.bytes.len();
        assert!(self.given <= MAX_FRAME, "{} bytes", self.given);
        self.useful += more.bytes.len() as u64;
    }

    fn ask_random_access(&mut self) {
        let Some(request) = self.subscriber.poll_random_access_request(self.now) else { return };
        assert!(self.video && self.asked.is_none_or(|asked| self.now - asked >= RANDOM_ACCESS_REQUESTS));
        assert!(self.ids.iter().max() >= Some(&request.lost), "{request:?}");
        self.asked = Some(self.now);
    }

    /// Shows the frames that are there at the end, after which nothing is left.
    fn end(&mut self) {
        self.subscriber.handle_close();
        self.poll();
        assert_eq!(self.subscriber.poll_timeout(), None, "nothing is left");
        assert!(self.subscriber.poll(Duration::MAX).is_none());
    }
}
