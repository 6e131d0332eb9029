//! A network in virtual time: a link of a given rate, delay, queue, loss and jitter, and over it a broadcast to one
//! receiver with the state machines of `nestcast-proto` and the least of a transport. The same seed, the same run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Arrived, Estimator, Frame, Publisher, Received, Step, StreamHead, Subscriber};

/// The step of virtual time.
const TICK: Duration = Duration::from_micros(250);
/// Frames come at 30 a second.
pub const INTERVAL: Duration = Duration::from_micros(33_333);
/// A packet, what of it are streams' frames, the head of each of these, and what UDP and IP add on the link.
const PACKET: u64 = 1200;
const PAYLOAD: usize = 1170;
const HEAD: usize = 7;
const OVERHEAD: u64 = 28;
/// What the sender says first: the answer to a hello, a packet much smaller than those of frames.
const WELCOME: usize = 40;
/// The receiver acknowledges more packets than this at once, fewer after so long.
const ACK_EVERY: usize = 3;
const ACK_WITHIN: Duration = Duration::from_millis(4);
/// Until the first round trip is known: quinn's of three times 100 ms.
const FIRST_TIMEOUT: Duration = Duration::from_millis(300);

/// A link in one direction; the way back has its delay alone.
#[derive(Debug, Clone)]
pub struct Link {
    /// From each moment on so many bits per second; the first at zero.
    pub rates: Vec<(Duration, u64)>,
    /// One way.
    pub delay: Duration,
    /// What may wait before it is dropped.
    pub queue: Duration,
    /// Of a million packets so many are lost.
    pub loss: u32,
    /// A packet is late by up to so much, and may overtake.
    pub jitter: Duration,
    /// Of the losses and the jitter.
    pub seed: u64,
}

impl Link {
    /// Without loss; 5 ms each way and a queue of 100 ms.
    pub fn steps(rates: &[(u64, u64)]) -> Self {
        let rates = rates.iter().map(|&(second, bits)| (Duration::from_secs(second), bits)).collect();
        let (delay, queue) = (Duration::from_millis(5), Duration::from_millis(100));
        Self { rates, delay, queue, loss: 0, jitter: Duration::ZERO, seed: 1 }
    }

    /// Of a recording: seconds and Mbit/s on each line.
    ///
    /// # Panics
    /// If it is none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive and small")]
    pub fn recorded(text: &str) -> Self {
        let numbers = |line: &str| {
            let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
            (numbers.next().expect("seconds"), numbers.next().expect("Mbit/s"))
        };
        let rate = |(at, megabits): (f64, f64)| (Duration::from_secs_f64(at), (megabits * 1e6) as u64);
        Self { rates: text.lines().map(|line| rate(numbers(line))).collect(), ..Self::steps(&[]) }
    }

    /// The bits that it carries between two moments.
    pub fn capacity(&self, from: Duration, to: Duration) -> f64 {
        let ends = self.rates.iter().skip(1).map(|(at, _)| *at).chain([Duration::MAX]);
        let pieces = self
            .rates
            .iter()
            .zip(ends)
            .map(|(&(begin, rate), end)| rate as f64 * end.min(to).saturating_sub(begin.max(from)).as_secs_f64());
        pieces.sum()
    }

    /// Bits per second at a moment.
    pub fn rate(&self, now: Duration) -> u64 {
        self.rates.iter().rfind(|(from, _)| *from <= now).map_or(1, |(_, rate)| *rate)
    }

    /// A number below `below`; SplitMix64.
    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % below.max(1)
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Frames in the order in which they were shown, with their times.
    pub shown: Vec<Arrived>,
    /// The receiver's counts.
    pub received: Received,
    /// How long each packet waited in the queue, with the moment it was sent.
    pub waits: Vec<(Duration, Duration)>,
}

impl Outcome {
    /// Bytes of frames that were shown between two moments.
    pub fn bytes(&self, from: Duration, to: Duration) -> u64 {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        within.map(|shown| shown.prefix.len() as u64).sum()
    }

    /// From capture until it was shown: of half of the frames between two moments it took no longer.
    pub fn latency(&self, from: Duration, to: Duration) -> Duration {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        let mut latencies: Vec<_> =
            within.map(|shown| shown.shown.saturating_sub(Duration::from_micros(shown.header.captured))).collect();
        latencies.sort_unstable();
        latencies.get(latencies.len() / 2).copied().unwrap_or_default()
    }

    /// The wait in the queue that 95 % of the packets between two moments stayed below.
    pub fn queue_p95(&self, from: Duration, to: Duration) -> Duration {
        let within = self.waits.iter().filter(|(sent, _)| (from..to).contains(sent));
        let mut waits: Vec<_> = within.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() * 95 / 100).copied().unwrap_or_default()
    }
}

/// A packet on its way: one piece of one stream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    stream: u64,
    offset: usize,
    bytes: Vec<u8>,
    end: bool,
}

#[derive(Debug, Default)]
struct Outgoing {
    written: Vec<u8>,
    sent: usize,
    finished: bool,
    end_sent: bool,
    lost: VecDeque<Piece>,
}

impl Outgoing {
    /// What goes out next of stream `number` in at most `room` bytes.
    fn piece(&mut self, number: u64, room: usize) -> Option<Piece> {
        if room == 0 {
            return None;
        }
        if let Some(mut piece) = self.lost.pop_front() {
            if piece.bytes.len() > room {
                let rest = piece.bytes.split_off(room);
                let end = std::mem::replace(&mut piece.end, false);
                self.lost.push_front(Piece { offset: piece.offset + room, bytes: rest, end, ..piece });
            }
            return Some(piece);
        }
        if self.sent == self.written.len() && (!self.finished || self.end_sent) {
            return None;
        }
        let (offset, end) = (self.sent, self.written.len().min(self.sent + room));
        let last = self.finished && end == self.written.len();
        (self.sent, self.end_sent) = (end, last);
        Some(Piece { stream: number, offset, bytes: self.written[offset..end].to_vec(), end: last })
    }
}

/// Broadcasts for `time` frames of `full` bytes with a base of `base`.
pub fn broadcast(mut link: Link, time: Duration, full: usize, base: usize) -> Outcome {
    let mut sender = Sender {
        publisher: Publisher::new(INTERVAL, None),
        estimator: Estimator::new(PACKET),
        streams: BTreeMap::from([(0, Outgoing { written: vec![0; WELCOME], finished: true, ..Outgoing::default() })]),
        flying: BTreeMap::new(),
        in_flight: 0,
        recovery: Recovery { newest: 0, rtt: [Duration::ZERO; 3], sent: Duration::ZERO, probed: 0, probes: 0 },
        packets: 0,
    };
    let mut receiver = Receiver { subscriber: Subscriber::new(INTERVAL), streams: BTreeMap::new(), shown: Vec::new() };
    // When each arrives, its number, and when it leaves the queue.
    let mut forward: BTreeSet<(Duration, u64, Duration, Vec<Piece>)> = BTreeSet::new();
    let mut back: BTreeSet<(Duration, u64)> = BTreeSet::new();
    let mut unacknowledged: Vec<(Duration, u64)> = Vec::new();
    // The first frame comes behind the welcome.
    let (mut now, mut due, mut id, mut busy) = (Duration::ZERO, INTERVAL, 0, Duration::ZERO);
    let mut waits = Vec::new();
    let picture = Bytes::from(vec![7; full]);
    while now < time {
        while forward.first().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, number, _, pieces)) = forward.pop_first() else { break };
            for piece in pieces {
                receiver.take(now, piece);
            }
            unacknowledged.push((now, number));
        }
        let held = unacknowledged.first().is_some_and(|(since, _)| now >= *since + ACK_WITHIN);
        if held || unacknowledged.len() > ACK_EVERY {
            back.extend(unacknowledged.drain(..).map(|(_, number)| (now + link.delay, number)));
        }
        receiver.show(now);
        sender.acknowledge(now, &mut back);
        if now >= due {
            let captured = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
            let frame = Frame { id, skipped: 0, captured, base, bytes: picture.clone() };
            sender.publisher.handle_frame(now, &frame, &sender.estimator.path());
            sender.recovery.probes = sender.recovery.probes.max(sender.publisher.stalled().into());
            id += 1;
            due += INTERVAL;
        }
        sender.drive();
        while let Some((number, pieces, size)) = sender.packet(now) {
            // What is ahead in the queue goes at the rate of now.
            let wait = busy.saturating_sub(now);
            if wait > link.queue || link.random(1_000_000) < u64::from(link.loss) {
                continue;
            }
            waits.push((now, wait));
            let nanos = (size + OVERHEAD) * 8_000_000_000 / link.rate(now);
            busy = busy.max(now) + Duration::from_nanos(nanos);
            let late = link.random(u64::try_from(link.jitter.as_nanos()).unwrap_or(0));
            forward.insert((busy + link.delay + Duration::from_nanos(late), number, busy, pieces));
        }
        let before = link.rate(now);
        now += TICK;
        // A change of rate changes how long the queue takes; what left it is on its way.
        let after = link.rate(now);
        if before != after {
            let scale = before as f64 / after as f64;
            let stretched = |left: Duration| left.min(now) + left.saturating_sub(now).mul_f64(scale);
            busy = stretched(busy);
            forward = std::mem::take(&mut forward)
                .into_iter()
                .map(|(at, number, left, pieces)| (at - left + stretched(left), number, stretched(left), pieces))
                .collect();
        }
    }
    Outcome { received: receiver.subscriber.received(), shown: receiver.shown, waits }
}

struct Sender {
    publisher: Publisher,
    estimator: Estimator,
    /// In the order in which they were opened.
    streams: BTreeMap<u64, Outgoing>,
    flying: BTreeMap<u64, (Duration, u64, Vec<Piece>)>,
    in_flight: u64,
    recovery: Recovery,
    packets: u64,
}

/// Loss detection and probes of RFC 9002, section 6.
#[derive(Debug)]
struct Recovery {
    /// The newest packet that was acknowledged.
    newest: u64,
    /// Round trips: the last, the smoothed, and how much they vary.
    rtt: [Duration; 3],
    /// When the last packet was sent.
    sent: Duration,
    /// Probes since the last acknowledgement, and packets that may be sent now whatever the window is.
    probed: u32,
    probes: u32,
}

impl Recovery {
    fn handle_ack(&mut self, number: u64, rtt: Duration) {
        self.newest = self.newest.max(number);
        let [_, smoothed, varying] = self.rtt;
        self.rtt = if smoothed.is_zero() {
            [rtt, rtt, rtt / 2]
        } else {
            [rtt, (7 * smoothed + rtt) / 8, (3 * varying + smoothed.abs_diff(rtt)) / 4]
        };
    }

    fn is_lost(&self, now: Duration, number: u64, sent: Duration) -> bool {
        let [last, smoothed, _] = self.rtt;
        number < self.newest && (number + 3 <= self.newest || now >= sent + last.max(smoothed) * 9 / 8)
    }

    fn probe_due(&self) -> Duration {
        let [_, smoothed, varying] = self.rtt;
        let timeout = if smoothed.is_zero() { FIRST_TIMEOUT } else { smoothed + 4 * varying + ACK_WITHIN };
        self.sent + timeout * 2_u32.pow(self.probed.min(8))
    }
}

impl Sender {
    /// What was written and not acknowledged.
    fn held(&self) -> u64 {
        let unsent: usize = self.streams.values().map(|stream| stream.written.len() - stream.sent).sum();
        unsent as u64 + self.in_flight
    }

    fn drive(&mut self) {
        while let Some(step) = self.publisher.poll() {
            let newest = self.streams.keys().last().copied().unwrap_or(0);
            match step {
                Step::Open => drop(self.streams.insert(newest + 1, Outgoing::default())),
                Step::Finish => {
                    if let Some(stream) = self.streams.get_mut(&newest) {
                        stream.finished = true;
                    }
                }
                Step::Write => {
                    let window = self.publisher.window(&self.estimator.path());
                    let room = usize::try_from(window.saturating_sub(self.held())).unwrap_or(usize::MAX);
                    if room == 0 {
                        return;
                    }
                    let bytes: Vec<u8> = self.publisher.unwritten().iter().flatten().copied().take(room).collect();
                    if let Some(stream) = self.streams.get_mut(&newest) {
                        stream.written.extend_from_slice(&bytes);
                    }
                    self.publisher.handle_written(bytes.len());
                }
            }
        }
    }

    /// The next packet, if one may be sent: bytes of the oldest streams.
    fn packet(&mut self, now: Duration) -> Option<(u64, Vec<Piece>, u64)> {
        let probe = self.recovery.probes > 0;
        if self.in_flight + PACKET > self.estimator.path().window && !probe {
            return None;
        }
        let (mut pieces, mut room) = (Vec::new(), PAYLOAD);
        for (&number, stream) in &mut self.streams {
            while let Some(piece) = stream.piece(number, room.saturating_sub(HEAD)) {
                room -= HEAD + piece.bytes.len();
                pieces.push(piece);
            }
        }
        // A probe without data is a ping.
        if pieces.is_empty() && !probe {
            return None;
        }
        self.recovery.probes = self.recovery.probes.saturating_sub(1);
        self.recovery.sent = now;
        let size = PACKET - room as u64;
        self.packets += 1;
        self.in_flight += size;
        self.estimator.handle_sent(now, size);
        self.flying.insert(self.packets, (now, size, pieces.clone()));
        Some((self.packets, pieces, size))
    }

    fn acknowledge(&mut self, now: Duration, back: &mut BTreeSet<(Duration, u64)>) {
        let mut newest = None;
        while back.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, number)) = back.pop_first() else { break };
            if let Some((sent, size, _)) = self.flying.remove(&number) {
                newest = newest.max(Some(number));
                self.recovery.handle_ack(number, now - sent);
                self.in_flight -= size;
                self.estimator.handle_ack(now, sent, size);
            }
        }
        if newest.is_some() {
            self.recovery.probed = 0;
        }
        let lost: Vec<u64> = self
            .flying
            .iter()
            .filter(|(number, (sent, ..))| self.recovery.is_lost(now, **number, *sent))
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            let Some((_, size, pieces)) = self.flying.remove(&number) else { continue };
            self.in_flight -= size;
            self.estimator.handle_loss(size, false);
            for piece in pieces {
                if let Some(stream) = self.streams.get_mut(&piece.stream) {
                    stream.lost.push_back(piece);
                }
            }
        }
        if !self.flying.is_empty() && now >= self.recovery.probe_due() {
            (self.recovery.probed, self.recovery.probes) = (self.recovery.probed + 1, 2);
            self.recovery.sent = now;
        }
        self.estimator.handle_acks_end(now, self.in_flight);
        let gone = self.streams.len().saturating_sub(64);
        for _ in 0..gone {
            self.streams.pop_first();
        }
    }
}

struct Receiver {
    subscriber: Subscriber,
    streams: BTreeMap<u64, Incoming>,
    shown: Vec<Arrived>,
}

#[derive(Default)]
struct Incoming {
    pieces: BTreeMap<usize, Piece>,
    bytes: Vec<u8>,
    /// The frame's id and how many of `bytes` were handed on.
    head: Option<(u64, usize)>,
    ended: bool,
}

impl Receiver {
    fn take(&mut self, now: Duration, piece: Piece) {
        // The welcome.
        if piece.stream == 0 {
            return;
        }
        let stream = self.streams.entry(piece.stream).or_default();
        stream.pieces.insert(piece.offset, piece);
        while let Some(piece) = stream.pieces.remove(&stream.bytes.len()) {
            stream.bytes.extend_from_slice(&piece.bytes);
            stream.ended |= piece.end;
            if piece.bytes.is_empty() {
                break;
            }
        }
        if stream.head.is_none() {
            let Ok(Some((StreamHead::Frame(header), length))) = StreamHead::parse(&stream.bytes) else { return };
            self.subscriber.handle_head(now, header).expect("the sender keeps the rules");
            stream.head = Some((header.id, length));
        }
        if let Some((id, handed)) = &mut stream.head {
            self.subscriber.handle_bytes(now, *id, &stream.bytes[*handed..]).expect("the sender keeps the rules");
            *handed = stream.bytes.len();
            if stream.ended {
                self.subscriber.handle_end(*id);
            }
        }
    }

    fn show(&mut self, now: Duration) {
        while let Some(arrived) = self.subscriber.poll(now) {
            self.shown.push(arrived);
        }
    }
}
