//! A path's bandwidth and delay from acknowledged bytes: how much may be in flight so that the queue stays short.
//!
//! A packet that finds `flight` bytes on the way and comes back after `rtt` shows a path of `flight / rtt` bytes a second
//! (Little's law). Once in a round trip the window becomes what that rate carries in `min_rtt`, a short queue, and one
//! packet, the one that is being sent: the aim of FAST TCP (Wei, Jin, Low, Hegde 2006), reached in one step because the
//! flight is that of the packet's own sending. So the window falls to the right size in one round trip after the rate
//! falls, and doubles at most in each after it rises; a fall to less than half shows in the deliveries before that. Loss
//! counts only where there is much of it. A window that is always full never sees the path without a queue, so every few
//! seconds it shrinks for one round.

use std::collections::VecDeque;
use std::time::Duration;

use crate::busy::Busy;
use crate::falls::Falls;
use crate::limits::{
    DRAIN_EVERY, INITIAL_WINDOW, LOSS_IS_CONGESTION, MAX_WINDOW, MIN_RTT_LIFE, MIN_WINDOW_PACKETS, QUEUE_LEAST,
    QUEUE_PACKETS, QUEUE_TARGET,
};

/// A round trip that is longer than the shortest by less than this met no queue.
const NO_QUEUE: Duration = Duration::from_millis(2);

/// What is known of the path to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Bytes that were acknowledged since the connection began.
    pub delivered: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// Bytes that may be in flight.
    pub window: u64,
    /// Bytes that are in flight. They are more than may be after the window fell.
    pub in_flight: u64,
    /// The last round trip; zero if there was none yet.
    pub rtt: Duration,
    /// The shortest for long: the path without queues.
    pub min_rtt: Duration,
    /// Bytes of a packet.
    pub mtu: u64,
    /// How often its rate fell so far that most of what was on the way is lost.
    pub falls: u64,
}

impl Path {
    /// How long the last packet waited in queues, and was being sent.
    #[must_use]
    pub fn queue(&self) -> Duration {
        self.rtt.saturating_sub(self.min_rtt)
    }
}

impl Default for Path {
    fn default() -> Self {
        Self {
            delivered: 0,
            lost: 0,
            window: INITIAL_WINDOW,
            in_flight: 0,
            rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            mtu: 1200,
            falls: 0,
        }
    }
}

/// The shortest round trip of this half of a time and of the half before.
#[derive(Debug, Clone, Copy, Default)]
struct Shortest([Option<(Duration, Duration)>; 2]);

impl Shortest {
    fn of(&mut self, now: Duration, rtt: Duration, life: Duration) -> Duration {
        match &mut self.0[1] {
            Some((since, shortest)) if now.saturating_sub(*since) < life / 2 => *shortest = rtt.min(*shortest),
            _ => self.0 = [self.0[1], Some((now, rtt))],
        }
        self.0.iter().flatten().map(|(_, rtt)| *rtt).min().unwrap_or(rtt)
    }
}

/// Watches one path. The transport tells it of every packet that it sent, that arrived or was lost.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    path: Path,
    shortest: Shortest,
    round: Round,
    /// Moments at which packets were sent, with the bytes in flight before them and of those that arrived; what is
    /// older than the last acknowledgement is gone.
    sent: VecDeque<(Duration, u64)>,
    /// The newest packet in the batch of acknowledgements at hand: its round trip, without the time that the peer held
    /// the acknowledgement back, and the bytes that were in flight with it.
    newest: Option<(Duration, u64, u64)>,
    /// A queue stood once: the path's size is known.
    filled: bool,
    busy: Busy,
    /// Bytes that the batch of acknowledgements at hand acknowledges.
    batch: u64,
    /// A whole packet was acknowledged.
    whole: bool,
    /// What the path carried when it was last seen busy, in bytes a second.
    rate: Option<f64>,
    /// Rounds in a row that saw no queue although all that the path should carry was in flight.
    free: usize,
    /// The round trip smoothed as the transport does it, and how much longer it is than the transport's: the time for which
    /// the peer holds acknowledgements back.
    smoothed: Option<Duration>,
    held: Duration,
    drain: Drain,
    falls: Falls,
}

/// The round in which the queue drains, so that the path is seen without it.
#[derive(Debug, Clone, Copy, Default)]
struct Drain {
    /// When the path was last seen without a queue.
    last: Duration,
    /// The window to return to.
    window: Option<u64>,
}

/// One round trip: it ends when a packet is acknowledged that was sent after it began.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    began: Duration,
    /// The batch at hand is its last.
    over: bool,
    /// Of its batches of acknowledgements: the sum of the round trips, and of the bytes in flight.
    time: Duration,
    flight: u64,
    batches: u32,
    /// The shortest queue.
    standing: Duration,
    /// The largest of the bytes in flight, those of packets that were sent a round trip ago.
    largest: u64,
    /// Most bytes in flight.
    busiest: u64,
    delivered: u64,
    lost: u64,
}

impl Round {
    fn new(now: Duration, in_flight: u64) -> Self {
        Self { began: now, busiest: in_flight, standing: Duration::MAX, ..Self::default() }
    }
}

impl Estimator {
    /// For packets of `mtu` bytes.
    #[must_use]
    pub fn new(mtu: u64) -> Self {
        Self { path: Path { mtu, ..Path::default() }, round: Round::new(Duration::ZERO, 0), ..Self::default() }
    }

    /// What is known now.
    #[must_use]
    pub const fn path(&self) -> Path {
        self.path
    }

    /// Packets grew or shrank.
    pub const fn handle_mtu(&mut self, mtu: u64) {
        self.path.mtu = mtu;
    }

    /// A packet of `bytes` that was sent at `sent` arrived.
    pub fn handle_ack(&mut self, now: Duration, sent: Duration, bytes: u64) {
        self.path.delivered += bytes;
        self.round.delivered += bytes;
        self.batch += bytes;
        while self.sent.front().is_some_and(|(at, _)| *at < sent) {
            self.sent.pop_front();
        }
        if let Some((at, flight)) = self.sent.front_mut().filter(|(at, _)| *at == sent) {
            *flight += bytes;
            self.newest = Some((now.saturating_sub(*at), *flight, bytes));
        }
        self.round.over |= sent >= self.round.began;
    }

    /// All acknowledgements that came together were told; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        self.path.in_flight = in_flight;
        let delivered = std::mem::take(&mut self.batch);
        let Some((rtt, flight, bytes)) = self.newest.take() else { return };
        let rtt = self.as_whole(rtt, bytes);
        self.path.rtt = rtt;
        self.smoothed = Some(self.smoothed.map_or(rtt, |smoothed| (7 * smoothed + rtt) / 8));
        self.path.min_rtt = self.shortest.of(now, rtt, MIN_RTT_LIFE);
        if rtt <= self.path.min_rtt + self.path.min_rtt / 8 + NO_QUEUE {
            self.drain.last = now;
        }
        self.round.time += rtt;
        self.round.flight += flight;
        self.round.batches += 1;
        let queue = self.queue();
        if std::env::var_os("NC_BATCH").is_some() {
            eprintln!("   {now:?} batch rtt {rtt:?} flight {flight} in flight {in_flight} delivered {} queue {queue:?} window {}", self.path.delivered, self.path.window);
        }
        self.round.standing = self.round.standing.min(queue);
        let least = (self.target(self.rate.unwrap_or(f64::MAX)) / 3).max(Duration::from_millis(3));
        self.busy.handle_batch(now, self.path.delivered, self.path.mtu, queue, least);
        self.round.largest = self.round.largest.max(flight);
        if self.rate.is_none() {
            self.start(delivered);
        }
        if self.round.over {
            self.end_round(now, in_flight);
        }
        self.watch_falls(now, in_flight);
    }

    /// The round trip of a packet of `bytes` as that of a whole one, which takes longer to be sent. Where the path's rate is
    /// not known, the shortest round trip is that of whole packets, as soon as there is one.
    fn as_whole(&mut self, rtt: Duration, bytes: u64) -> Duration {
        let missing = self.path.mtu.saturating_sub(bytes);
        match self.rate {
            Some(rate) => rtt + Duration::from_secs_f64((missing as f64 / rate.max(1.0)).min(2.0 * QUEUE_TARGET.as_secs_f64())),
            None if missing > self.path.mtu / 8 && self.whole => rtt.max(self.path.min_rtt),
            None => {
                if missing <= self.path.mtu / 8 && !std::mem::replace(&mut self.whole, true) {
                    self.shortest = Shortest::default();
                }
                rtt
            }
        }
    }

    /// How long the last packet waited in queues; what the peer held acknowledgements back for is none.
    fn queue(&self) -> Duration {
        self.path.queue().saturating_sub(self.held)
    }

    /// The transport's smoothed round trip of the packets before, without what the peer held acknowledgements back for.
    pub fn handle_smoothed(&mut self, transport: Duration) {
        self.held = self.smoothed.unwrap_or_default().saturating_sub(transport);
    }

    /// Whether all of the window was in flight in this round.
    const fn used(&self) -> bool {
        self.round.busiest + self.path.mtu >= self.path.window
    }

    /// Doubles the window in a round trip (RFC 9002, section 7.3.1) until a queue shows the path's rate.
    fn start(&mut self, delivered: u64) {
        self.rate = self.busy.take();
        if let Some(rate) = self.rate {
            let path = whole(rate * seconds(self.path.min_rtt + self.target(rate)));
            self.path.window = self.path.window.min(path).max(self.least());
            self.free = 0;
        } else if self.used() && self.queue() < self.target(f64::MAX) {
            self.path.window = (self.path.window + delivered).min(MAX_WINDOW);
        }
    }

    /// Takes the window down at once if the path delivers less than half of what it is for, behind a queue.
    fn watch_falls(&mut self, now: Duration, in_flight: u64) {
        let busy = 2 * in_flight >= self.path.window && self.drain.window.is_none();
        let Some(rate) = self.falls.rate(now, self.path.delivered, busy) else { return };
        let target = self.target(rate);
        let aim = whole(rate * seconds(self.path.min_rtt + target)).max(self.least());
        // Without a queue these are the gaps between what was sent in bursts.
        if self.falls.certain(now, self.queue() > target && 2 * aim < self.path.window) {
            self.path.window = aim;
            self.path.falls += 1;
            self.rate = Some(rate);
            self.busy = Busy::default();
            self.falls = Falls::default();
            self.filled = true;
            self.round = Round::new(now, in_flight);
        }
    }

    /// How long packets should wait before a path that carries `rate` bytes a second, and be sent.
    fn target(&self, rate: f64) -> Duration {
        let packet = self.path.mtu as f64 / rate.max(1.0);
        let (least, most) = (QUEUE_LEAST.as_secs_f64(), QUEUE_TARGET.as_secs_f64());
        let queue = (QUEUE_PACKETS * packet).clamp(least, most);
        // The shortest round trip may be that of a small packet; the time that sending a whole one takes is no queue.
        Duration::from_secs_f64(queue + packet.min(most))
    }

    /// Packets of so many bytes were sent.
    pub fn handle_sent(&mut self, now: Duration, bytes: u64) {
        if self.sent.back().is_none_or(|(at, _)| *at < now) {
            self.sent.push_back((now, self.path.in_flight));
        }
        self.path.in_flight += bytes;
        self.round.busiest = self.round.busiest.max(self.path.in_flight);
    }

    /// Bytes were lost; `all` if nothing got through for long.
    pub fn handle_loss(&mut self, bytes: u64, all: bool) {
        self.path.lost += bytes;
        // A transport may tell of acknowledgements first, when what was lost was still in flight.
        self.path.in_flight = self.path.in_flight.saturating_sub(bytes);
        self.round.lost += bytes;
        if all {
            self.path.window = self.least();
            self.drain.window = None;
        }
    }

    fn end_round(&mut self, now: Duration, in_flight: u64) {
        let used = self.used();
        let round = std::mem::replace(&mut self.round, Round::new(now, in_flight));
        if let Some(window) = self.drain.window.take() {
            self.path.window = window;
            self.drain.last = now;
            return;
        }
        let mean = (round.time / round.batches.max(1)).saturating_sub(self.path.min_rtt + self.held);
        let (window, largest) = (self.path.window as f64, round.largest as f64);
        let seen = self.busy.take();
        self.rate = seen.or(self.rate);
        let flight = round.flight as f64 / f64::from(round.batches.max(1));
        let law = flight / seconds(round.time / round.batches.max(1));
        let rate = self.rate.unwrap_or(law);
        let target = self.target(rate);
        let path = rate * seconds(self.path.min_rtt + target);
        let mut aim = if seen.is_some() || mean > target {
            self.free = 0;
            // Where the queue stood all the time, what was in flight made it, and shows what is too much or too little.
            let stood = round.standing > target / 4;
            let right = if stood { flight + rate * (seconds(target) - seconds(mean)) } else { path };
            right.clamp(0.95 * path, 1.05 * path).clamp(window / 4.0, window.max(largest * 2.0))
        } else if self.rate.is_some() && largest < 0.95 * path {
            path
        } else if self.rate.is_some() && largest + 2.0 * self.path.mtu as f64 >= window {
            self.free += 1;
            if self.free >= 3 { self.rate = None; }
            largest + rate * QUEUE_TARGET.as_secs_f64()
        } else {
            window
        };
        if !used {
            aim = aim.min(window);
        }
        let standing = round.standing;
        let lost = round.lost as f64 / (round.lost + round.delivered).max(1) as f64;
        if lost > LOSS_IS_CONGESTION && round.lost > self.path.mtu {
            aim = aim.min(self.path.window as f64 * 0.7);
        }
        if std::env::var_os("NC_DEBUG").is_some() {
            eprintln!("{now:?} {} held {:?} W {} aim {aim:.0} rate {:.0} kbit/s mean {mean:?} standing {standing:?} target {target:?} used {used} lost {} batches {} flight {in_flight}", if seen.is_some() {"seen"} else {"-"}, self.held, self.path.window, rate*8e-3, round.lost, round.batches);
        }
        self.path.window = whole(aim).clamp(self.least(), MAX_WINDOW);
        if now.saturating_sub(self.drain.last) > DRAIN_EVERY {
            self.drain.window = Some(self.path.window);
            // Less by twice the queue, or half of what the path holds without one.
            let (path, queue) = (seconds(self.path.min_rtt), seconds(target));
            let path = (path / 2.0).max(path - queue) / (path + queue);
            self.path.window = whole(self.path.window as f64 * path).max(self.path.mtu);
        }
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}

/// At least a tenth of a millisecond, to divide by.
fn seconds(time: Duration) -> f64 {
    time.max(Duration::from_micros(100)).as_secs_f64()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few windows at most, and positive")]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}
