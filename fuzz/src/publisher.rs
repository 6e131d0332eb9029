//! A sender's side of one receiver under any schedule of frames, writes and paths.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use bytes::{Bytes, BytesMut};
use nestcast_proto::{
    Bases, Bitrate, Frame, FrameHeader, LateHeader, ParityHeader, PathStats, Publisher, Repair, Room, Step, StreamHead,
};

/// The most steps that a publisher may ask for between two events: those of two frames, each in a few writes.
const MANY_STEPS: usize = 64;
/// A frame's bytes are cut out of these, so that a wrong one shows.
static PATTERN: [u8; 1 << 17] = {
    let mut pattern = [0; 1 << 17];
    let mut at = 0;
    while at < pattern.len() {
        [pattern[at], ..] = ((at * 167) >> 4).to_le_bytes();
        at += 1;
    }
    pattern
};

#[derive(Debug, Arbitrary)]
enum Event {
    /// A frame is due; its number is `step` after the one before.
    Frame {
        step: u8,
        skipped: u8,
        length: u16,
        base: u16,
        path: AnyPath,
    },
    Missed(u8),
    /// The last frame's picture is due again, with `more` bytes.
    Stays {
        step: u8,
        more: u16,
        path: AnyPath,
    },
    /// The transport accepts this number of bytes.
    Room(u16),
    Wait(u32),
}

#[derive(Debug, Arbitrary)]
struct AnyPath {
    delivered: u16,
    window: u32,
    in_flight: u32,
    rtt: u32,
    retransmitted_bytes: u8,
    drop_lead_time: bool,
}

/// Checks a publisher for any due frames and any writes of the transport. It opens, writes and finishes streams one
/// after the other. Each is its frame's head and a prefix with at least the base, within the receiver's cap. Ids rise,
/// the counts add up, and the machine comes to rest. A picture that stays loses nothing, within the cap.
///
/// The input: the receiver's cap and the frame interval, then the events.
pub fn publisher(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((interval, cap)) = input.arbitrary::<(u32, u32)>() else { return };
    let interval = Duration::from_micros(u64::from(interval) + 1);
    let cap = (cap > 0).then(|| Bitrate::from_bits(u64::from(cap) << 4));
    // The depth of the cap's token bucket: three frame intervals, and 256 bytes at least.
    let most = cap.map_or(u64::MAX, |cap| cap.bytes_in(interval.saturating_mul(3)).max(256));
    let mut driver = Driver::new(Publisher::new(interval, cap), usize::try_from(most).unwrap_or(usize::MAX));
    while !input.is_empty() {
        let Ok(event) = input.arbitrary() else { break };
        driver.handle(&event);
    }
}

struct Driver {
    publisher: Publisher,
    /// The most bytes of a frame that the receiver's cap allows.
    cap: usize,
    now: Duration,
    path: PathStats,
    frames: Vec<Frame>,
    /// The stream that is open.
    open: Option<Vec<u8>>,
    /// The number of streams so far, and the last frame's stream that ended: its number and its bytes.
    streams: u64,
    ended: (u64, Vec<u8>),
    last: Option<u64>,
    /// The frame that was begun last.
    begun: Option<u64>,
    opened: u64,
    handed: u64,
    missed: u64,
    written: u64,
    full: u64,
    /// Frames whose bases were written on their own streams.
    based: u64,
    again: u64,
    /// A picture stayed.
    stayed: bool,
}

impl Driver {
    fn new(publisher: Publisher, cap: usize) -> Self {
        Self {
            publisher,
            cap,
            now: Duration::ZERO,
            path: PathStats::default(),
            frames: Vec::new(),
            open: None,
            streams: 0,
            ended: (0, Vec::new()),
            last: None,
            begun: None,
            opened: 0,
            handed: 0,
            missed: 0,
            written: 0,
            full: 0,
            based: 0,
            again: 0,
            stayed: false,
        }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Frame { step, skipped, length, base, ref path } => self.frame(step, skipped, length, base, path),
            Event::Stays { step, more, ref path } => self.stays(step, more, path),
            Event::Missed(count) => {
                self.missed += u64::from(count);
                self.publisher.handle_missed(count.into());
            }
            Event::Wait(micros) => self.now += Duration::from_micros(micros.into()),
            Event::Room(room) => return self.drive(room.into()),
        }
        self.drive(0);
    }

    fn frame(&mut self, step: u8, skipped: u8, length: u16, base: u16, path: &AnyPath) {
        let id = self.frames.last().map_or(0, |frame| frame.id) + u64::from(step) + 1;
        let from = usize::from(id.to_le_bytes()[0]);
        let bytes = Bytes::from_static(&PATTERN[from..from + usize::from(length)]);
        let skipped = u64::from(skipped).min(id);
        let frame = Frame { id, skipped, captured: id, since: id, base: base.into(), bytes, join: None };
        self.hand_over(frame, path);
        self.handed += 1;
    }

    /// The picture of the last frame is due again. It is a frame like others if the last one waits to be begun.
    fn stays(&mut self, step: u8, more: u16, path: &AnyPath) {
        let Some(last) = self.frames.last() else { return };
        let from = usize::from(last.since.to_le_bytes()[0]);
        let most = last.bytes.len() + usize::from(more);
        let bytes = Bytes::from_static(&PATTERN[from..(from + most).min(PATTERN.len())]);
        let id = last.id + u64::from(step) + 1;
        let waits = self.waits() == Some(1);
        self.stayed = true;
        let frame = Frame { id, captured: id, bytes, ..last.clone() };
        self.hand_over(frame, path);
        self.handed += u64::from(waits);
    }

    fn hand_over(&mut self, frame: Frame, path: &AnyPath) {
        self.path = PathStats {
            delivered: self.path.delivered + u64::from(path.delivered),
            window: path.window.into(),
            in_flight: path.in_flight.into(),
            rtt: Duration::from_micros(path.rtt.into()),
            retransmitted_bytes: path.retransmitted_bytes.into(),
            lost: self.path.lost + u64::from(path.retransmitted_bytes),
            rate_drops: self.path.rate_drops + u64::from(path.drop_lead_time),
            ..self.path
        };
        self.publisher.handle_frame(self.now, &frame, &self.path);
        self.frames.push(frame);
    }

    /// Does what the publisher asks until it waits or the transport accepts no more.
    fn drive(&mut self, mut room: usize) {
        for _ in 0..MANY_STEPS {
            match self.publisher.poll() {
                None => return self.check(),
                Some(Step::Open { frame }) => {
                    assert!(self.open.replace(Vec::new()).is_none(), "two streams at once");
                    self.streams += 1;
                    self.publisher.handle_opened(self.streams);
                    self.opened += u64::from(self.begun.replace(frame) != Some(frame));
                }
                Some(Step::Write) => {
                    let taken = self.write(room);
                    if taken == 0 {
                        return self.check();
                    }
                    room -= taken;
                }
                Some(Step::Finish) => self.finish(),
                Some(Step::BaseRetransmission { .. }) => {
                    // The publisher resets the open stream with all others, and the stream of bases begins.
                    self.last = self.last.max(self.begun);
                    self.open = Some(Vec::new());
                    self.streams += 1;
                    self.publisher.handle_opened(self.streams);
                    self.again += 1;
                }
            }
        }
        panic!("it does not come to rest");
    }

    fn write(&mut self, room: usize) -> usize {
        let [head, body] = self.publisher.unwritten();
        let owed = self.publisher.owes_base();
        let open = self.open.as_mut().expect("a stream is open");
        let offered = head.len() + body.len();
        assert!(offered > 0, "there is nothing to write");
        let taken = room.min(offered);
        let before = open.len();
        open.extend(head.iter().chain(&body).take(taken));
        self.publisher.handle_written(self.now, taken, &self.path);
        // Bases that come again, and parity, are all head.
        let body = taken.saturating_sub(head.len());
        self.written += body as u64;
        assert_eq!(open.len(), before + taken);
        let of_frame = matches!(StreamHead::parse(open), Ok(Some((StreamHead::Frame(_), _))));
        self.based += u64::from(owed && taken == offered && of_frame);
        taken
    }

    /// Checks the stream that ended, if it is a frame's.
    fn finish(&mut self) {
        let stream = self.open.take().expect("a stream is open");
        let (head, length) = StreamHead::parse(&stream).expect("a valid head").expect("a whole head");
        let header = match head {
            StreamHead::Frame(header) => header,
            StreamHead::Bases => return self.bases(&stream[length..]),
            StreamHead::Late(header) => return self.late(header, &stream[length..]),
            StreamHead::Parity(header) => return self.parity(header, &stream[length..]),
            StreamHead::Model(_) | StreamHead::Sound(_) | StreamHead::Unknown(_) => {
                panic!("no stream of a publisher: {head:?}")
            }
        };
        let frame = self.frames.iter().find(|frame| frame.id == header.id).expect("a frame that was handed over");
        let repeated = header.skipped - frame.skipped;
        assert_eq!(FrameHeader { skipped: frame.skipped, ..header }, frame.header());
        assert!(header.skipped <= header.id && repeated <= self.frames.len() as u64);
        assert!(self.last.is_none_or(|last| last < header.id), "ids rise");
        self.last = Some(header.id);
        let body = &stream[length..];
        let base = frame.base.min(frame.bytes.len());
        assert_eq!(body, &frame.bytes[..body.len()], "a prefix of the frame");
        assert!(base <= body.len() && body.len() <= self.cap.max(base), "{} bytes, base {base}", body.len());
        self.full += frame.bytes.len() as u64;
        self.ended = (self.streams, stream);
    }

    /// Checks that the stream that ended has the parity of the frame's stream before it, and restores a block in each
    /// of its pieces.
    fn parity(&self, header: ParityHeader, parity: &[u8]) {
        let (number, stream) = &self.ended;
        assert_eq!((header.stream, header.length), (*number, stream.len() as u64));
        let mut repair = Repair::new(header, Bytes::copy_from_slice(parity), BytesMut::new()).expect("all of it");
        let piece = stream.len().div_ceil(usize::try_from(header.pieces).expect("few"));
        let block = usize::try_from(header.block).expect("a packet");
        for (index, piece) in stream.chunks(piece).enumerate().filter(|(_, piece)| piece.len() > block) {
            let offset = header.length.div_ceil(header.pieces) * index as u64 + header.block;
            repair.handle_bytes(offset, &piece[block..]).expect("within the stream");
        }
        let came: Vec<u8> = std::iter::from_fn(|| repair.poll()).flatten().collect();
        assert!(came == *stream && repair.is_whole(), "without the first block of each piece");
    }

    /// Checks that the stream of late bytes that ended has bytes of the frame that was begun last, at their place.
    fn late(&self, header: LateHeader, body: &[u8]) {
        let frame = self.frames.iter().find(|frame| frame.id == header.id).expect("a frame that was handed over");
        assert_eq!(self.last, Some(frame.id), "late bytes follow their own frame");
        let from = usize::from(frame.since.to_le_bytes()[0]) + usize::try_from(header.offset).expect("it is short");
        assert_eq!(body, &PATTERN[from..from + body.len()], "bytes of the picture");
        assert!(header.offset + body.len() as u64 <= header.full && body.len() <= self.cap.max(frame.base));
    }

    /// Checks that the stream of bases that ended has those of the last frames, in order.
    fn bases(&self, stream: &[u8]) {
        let mut bases = Bases::default();
        bases.handle_bytes(stream);
        let mut last = None;
        while let Some((header, base)) = bases.poll().expect("bases within the limits") {
            let frame = self.frames.iter().find(|frame| frame.id == header.id).expect("a frame that was handed over");
            let header = FrameHeader { skipped: frame.skipped, ..header };
            assert_eq!((header, &base[..]), (frame.header(), &frame.bytes[..base.len()]));
            assert!(last.replace(header.id).is_none_or(|last| last < header.id), "ids rise");
        }
    }

    /// Returns the number of frames that wait to be begun.
    fn waits(&self) -> Option<u64> {
        (self.handed + self.missed).checked_sub(self.opened + self.publisher.stats().skipped)
    }

    fn check(&self) {
        let stats = self.publisher.stats();
        assert_eq!((stats.bytes, stats.frames, stats.again), (self.written, self.based, self.again));
        let waits = self.waits();
        assert!(matches!(waits, Some(0 | 1)), "{} frames opened, {stats:?}, {} handed over", self.opened, self.handed);
        assert!(stats.cut <= self.opened && stats.full >= self.full);
        let ended: u64 = stats.cut_reasons.each().iter().map(|(_, count)| count).sum();
        assert!(stats.cut == stats.cut_reasons.cut() && ended <= self.opened && self.opened <= ended + 1, "{stats:?}");
        // The bytes that a reset takes from a picture that stays are sent again.
        let most = self.frames.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>() * (1 + self.again);
        assert!(most >= stats.bytes && (self.stayed || stats.full >= stats.bytes));
        assert!(self.publisher.useful_bytes() <= self.cap as u64, "more than the cap is of use");
        let Room { held, pending } = self.publisher.room(&self.path);
        assert!(held >= self.path.window && held <= 4 * self.path.window + self.path.in_flight + 16 * 1024);
        assert!(pending.is_none_or(|pending| (self.path.window..=held).contains(&pending)));
        let _ = (self.publisher.delivery_rate(), self.publisher.packets_beyond(&self.path));
    }
}
