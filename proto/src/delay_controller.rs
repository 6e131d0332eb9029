//! A path's bandwidth and delay from acknowledged bytes: how much may be in flight so that the queue stays short.
//!
//! While a queue stands before the path's slowest link, and only then, what arrives shows its rate ([`Busy`]). Once in a
//! round trip the window becomes what that rate carries in the shortest round trip, a short queue, and one packet, the one
//! that is being sent: the aim of FAST TCP (Wei, Jin, Low, Hegde 2006), reached in one step because the rate does not depend on
//! the window. Behind a queue that stays too long it is the flow's share that counts, bytes in flight over the round trip
//! ([`Target`] says how long that queue should be). Where no queue shows, the window doubles in a round trip at first (slow start, RFC 9002, section 7.3.1), and
//! later grows by steps, since the path may have become faster. A fall of the rate to less than half shows in the deliveries
//! before a round is over ([`RateDropDetector`]). What a peer acknowledges together is sent together: the queue has room for that.
//! Loss counts only where there is much of it, or where another flow fills the queue
//! ([`Competition`]). A window that is always full never sees the path without a queue, so every few seconds it shrinks
//! for one round.

use std::collections::VecDeque;
use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::busy::Busy;
use crate::competition::Competition;
use crate::limits::{
    DRAIN_DEPTH, DRAIN_EVERY, DRAIN_LEAST, DRAIN_SUSPECTED, INITIAL_WINDOW, MAX_WINDOW, MIN_RTT_LIFE,
    MIN_RTT_LIFE_BEHIND_QUEUE, MIN_WINDOW_PACKETS, QUEUE_TARGET,
};
use crate::loss::Loss;
use crate::rate_drop::RateDropDetector;
use crate::round::{Round, seconds};
use crate::shortest::Shortest;
use crate::target::Target;

/// A queue that is shorter than this may be nothing but late clocks and acknowledgements.
const SURE_QUEUE: Duration = Duration::from_millis(3);
/// Rounds without a queue after which a path is taken for one of unknown, higher rate.
const FREE_ROUNDS: u32 = 3;
/// Rounds with too long a queue after which a flow's share is taken for less than the rate of its bursts.
const LATE_ROUNDS: u32 = 2;
/// How much a window grows in a round trip behind a queue, at most: another flow may have made that queue.
const GROWTH: f64 = 1.25;
/// How much of a window stays where too much is lost.
const CUT: f64 = 0.7;

/// What is known of the path to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStats {
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
    /// Bytes that were lost in this round trip and the last: they are on the way again, and what came behind them waits for
    /// them.
    pub repairing: u64,
    /// How often its rate fell so far that most of what was on the way is lost.
    pub falls: u64,
}

impl PathStats {
    /// How long the last packet waited in queues, and was being sent.
    #[must_use]
    pub fn queue(&self) -> Duration {
        self.rtt.saturating_sub(self.min_rtt)
    }

    /// What the controller lets through: its window in each round trip. Zero before the first.
    #[must_use]
    pub fn target_rate(&self) -> Bitrate {
        Bitrate::of(self.window, self.rtt).unwrap_or_default()
    }
}

impl Default for PathStats {
    fn default() -> Self {
        Self {
            delivered: 0,
            lost: 0,
            window: INITIAL_WINDOW,
            in_flight: 0,
            rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            mtu: 1200,
            repairing: 0,
            falls: 0,
        }
    }
}

/// Watches one path. The transport tells it of every packet that it sent, that arrived or was lost.
#[derive(Debug, Clone, Default)]
pub struct DelayController {
    path: PathStats,
    shortest: Shortest,
    round: Round,
    /// Moments at which packets were sent, with the bytes in flight before them and of those that arrived; what is
    /// older than the last acknowledgement is gone.
    sent: VecDeque<(Duration, u64)>,
    batch: Batch,
    /// What the path carried when it was last seen busy, in bytes a second; `None` while the window doubles.
    rate: Option<f64>,
    /// Rounds in a row that saw no queue although all that the path should carry was in flight, and rounds that saw a long
    /// one.
    free: u32,
    late: u32,
    busy: Busy,
    falls: RateDropDetector,
    competition: Competition,
    drain: Drain,
    held: Held,
    target: Target,
    loss: Loss,
}

/// Acknowledgements that came together.
#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    delivered: u64,
    newest: Option<Newest>,
}

/// The newest packet of a batch: others waited for it to be acknowledged.
#[derive(Debug, Clone, Copy)]
struct Newest {
    rtt: Duration,
    /// Bytes that were in flight when it was sent, and its own.
    flight: u64,
    bytes: u64,
}

/// The round in which the queue drains, so that the path is seen without it. All flows of one sender do that at the same
/// moments: those that share a link see it without the others' queues too, or who came last would take theirs for the path.
#[derive(Debug, Clone, Copy, Default)]
struct Drain {
    /// The window to return to, and when it began.
    window: Option<(u64, Duration)>,
    /// What the sender's clock says at the zero of this flow's.
    clock: Duration,
    /// The turn in which it drained last.
    turn: u128,
}

/// For how long the peer holds acknowledgements back: the transport's smoothed round trip is without that time.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// The round trip smoothed as the transport does it (RFC 9002, section 5.3), with that time.
    smoothed: Option<Duration>,
    time: Duration,
}

impl DelayController {
    /// For packets of `mtu` bytes. `clock` is the time on a clock that all flows of a sender share, when this one's begins.
    #[must_use]
    pub fn new(mtu: u64, clock: Duration) -> Self {
        let drain = Drain { clock, ..Drain::default() };
        Self {
            path: PathStats { mtu, ..PathStats::default() },
            round: Round::new(Duration::ZERO, 0),
            drain,
            ..Self::default()
        }
    }

    /// What is known now.
    #[must_use]
    pub const fn path(&self) -> PathStats {
        self.path
    }

    /// Packets grew or shrank.
    pub const fn handle_mtu(&mut self, mtu: u64) {
        self.path.mtu = mtu;
    }

    /// Packets of so many bytes were sent.
    pub fn handle_sent(&mut self, now: Duration, bytes: u64) {
        if self.sent.back().is_none_or(|(at, _)| *at < now) {
            self.sent.push_back((now, self.path.in_flight));
        }
        self.path.in_flight += bytes;
        self.round.busiest = self.round.busiest.max(self.path.in_flight);
    }

    /// The transport's smoothed round trip as it was before the acknowledgements at hand, less what the peer held
    /// acknowledgements back for (RFC 9002, section 5.3).
    pub fn handle_smoothed(&mut self, transport: Duration) {
        self.held.time = self.held.smoothed.unwrap_or_default().saturating_sub(transport);
    }

    /// A packet of `bytes` that was sent at `sent` arrived.
    pub fn handle_ack(&mut self, now: Duration, sent: Duration, bytes: u64) {
        self.path.delivered += bytes;
        self.batch.delivered += bytes;
        while self.sent.front().is_some_and(|(at, _)| *at < sent) {
            self.sent.pop_front();
        }
        if let Some((at, flight)) = self.sent.front_mut().filter(|(at, _)| *at == sent) {
            *flight += bytes;
            self.batch.newest = Some(Newest { rtt: now.saturating_sub(*at), flight: *flight, bytes });
        }
        self.round.over |= sent >= self.round.began;
    }

    /// Bytes were lost; `all` if nothing got through for long.
    pub fn handle_loss(&mut self, bytes: u64, all: bool) {
        self.path.lost += bytes;
        // A transport may tell of acknowledgements first, when what was lost was still in flight.
        self.path.in_flight = self.path.in_flight.saturating_sub(bytes);
        self.path.repairing += bytes;
        self.round.lost += bytes;
        if all {
            self.path.window = self.least();
            self.drain.window = None;
        }
    }

    /// All acknowledgements that came together were told; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        self.path.in_flight = in_flight;
        let Batch { delivered, newest } = std::mem::take(&mut self.batch);
        self.round.delivered += delivered;
        let Some(Newest { rtt, flight, bytes }) = newest else { return };
        self.held.smoothed = Some(self.held.smoothed.map_or(rtt, |smoothed| (7 * smoothed + rtt) / 8));
        self.see_round_trip(now, rtt, bytes);
        let queue = self.queue();
        self.round.handle_batch(self.path.rtt, queue, flight);
        let least = (self.target.of_path(&self.path, self.rate.unwrap_or(f64::MAX)) / 3).max(SURE_QUEUE);
        self.busy.handle_batch(now, self.path.delivered, self.path.mtu, queue, least);
        if self.rate.is_none() {
            self.start(delivered);
        }
        if self.round.over {
            self.end_round(now, in_flight);
        }
        self.watch_falls(now, in_flight);
    }

    /// The round trip of a packet of `bytes`, and the shortest. A whole packet takes longer to be sent: those that are not are
    /// counted as if they were, or, where the path's rate is not known yet, do not count beside whole ones.
    fn see_round_trip(&mut self, now: Duration, rtt: Duration, bytes: u64) {
        let missing = self.path.mtu.saturating_sub(bytes);
        let (rtt, whole) = match self.rate {
            Some(rate) => {
                let packet = self.target.handle_rate(now, self.path.mtu, rate);
                (rtt + packet.mul_f64(missing as f64 / self.path.mtu as f64), true)
            }
            None => (rtt, missing <= self.path.mtu / 8),
        };
        // Behind a competitor's queue the shortest round trip is not seen, and is as it was.
        let life = if self.competition.is_suspected(now) { MIN_RTT_LIFE_BEHIND_QUEUE } else { MIN_RTT_LIFE };
        self.path.min_rtt = self.shortest.of(now, rtt, whole, life);
        self.path.rtt = rtt.max(self.path.min_rtt);
    }

    /// How long the last packet waited in queues; what the peer held acknowledgements back for is none.
    fn queue(&self) -> Duration {
        self.path.queue().saturating_sub(self.held.time)
    }

    /// Whether all of the window was in flight in this round.
    const fn used(&self) -> bool {
        self.round.busiest + self.path.mtu >= self.path.window
    }

    /// Doubles the window in a round trip until a queue shows the path's rate.
    fn start(&mut self, delivered: u64) {
        self.rate = self.busy.take(self.path.mtu);
        if let Some(rate) = self.rate {
            let carried = self.carried(rate);
            self.path.window = self.path.window.min(whole(carried)).max(self.least());
            self.free = 0;
        } else if self.used() && self.queue() < self.target.of_path(&self.path, f64::MAX) {
            self.path.window = (self.path.window + delivered).min(MAX_WINDOW);
        }
    }

    /// Takes the window down at once if the path delivers less than half of what it is for, behind a queue.
    fn watch_falls(&mut self, now: Duration, in_flight: u64) {
        let busy = 2 * in_flight >= self.path.window && !self.competition.is_there();
        let Some(rate) = self.falls.rate(now, self.path.delivered, busy) else { return };
        // The queue of several flows is longer by itself.
        let target = self.target.of_share(&self.path, rate);
        let aim = whole(rate * seconds(self.path.min_rtt + target)).max(self.least());
        // Without a queue these are the gaps between what was sent in bursts, or the queue drains.
        let (window, queue) = match self.drain.window {
            Some((window, _)) => (window, 2 * target),
            None => (self.path.window, target),
        };
        if self.falls.certain(now, self.queue() > queue && 2 * aim < window) {
            self.path.window = aim;
            self.path.falls += 1;
            // A packet takes longer to be sent now, which is no queue.
            self.shortest.lengthen(self.target.handle_fall(now, self.path.mtu, rate));
            self.rate = Some(rate);
            self.drain.window = None;
            (self.busy, self.falls) = (Busy::default(), RateDropDetector::default());
            self.round = Round::new(now, in_flight);
        }
    }

    /// What a path that carries `rate` has in flight if its queue is as long as it should be, and a packet is being sent.
    fn carried(&self, rate: f64) -> f64 {
        rate * seconds(self.path.min_rtt + self.held.time + self.target.of_share(&self.path, rate))
    }

    fn end_round(&mut self, now: Duration, in_flight: u64) {
        let used = self.used();
        let round = std::mem::replace(&mut self.round, Round::new(now, in_flight));
        self.path.repairing = round.lost;
        self.target.handle_round(&round);
        self.competition.handle_round(now, round.standing);
        if let Some((window, since)) = self.drain.window {
            if now.saturating_sub(since) >= DRAIN_LEAST.max(self.path.rtt) {
                self.path.window = window;
                self.drain.window = None;
            }
            return;
        }
        let window = self.path.window as f64;
        let mut aim = if self.competition.is_there() {
            let mtu = self.path.mtu as f64;
            mtu * self.competition.window(now, round.mean_rtt(), window / mtu, round.lost > 0)
        } else {
            self.aim(&round)
        };
        if !used {
            aim = aim.min(window);
        }
        if self.loss.is_congestion(&round, self.path.mtu) {
            aim = aim.min(CUT * window);
        }
        self.path.window = whole(aim).clamp(self.least(), MAX_WINDOW);
        let suspected = self.competition.is_suspected(now) && !self.competition.is_there();
        let every = if suspected { DRAIN_SUSPECTED } else { DRAIN_EVERY };
        let turn = (self.drain.clock + now).as_nanos() / every.as_nanos();
        if turn != std::mem::replace(&mut self.drain.turn, turn) && used {
            self.begin_drain(now);
        }
    }

    /// The window that the last round trip speaks for.
    fn aim(&mut self, round: &Round) -> f64 {
        // What was sent before the window fell says nothing of what may be sent now.
        let window = self.path.window as f64;
        let largest = window.min(round.largest as f64);
        let queue = round.mean_rtt().saturating_sub(self.path.min_rtt + self.held.time);
        let seen = self.busy.take(self.path.mtu);
        let target = self.target.of_share(&self.path, seen.or(self.rate).unwrap_or_else(|| round.flown()));
        self.late = if queue > 3 * target / 2 { self.late + 1 } else { 0 };
        // What comes between others' packets in a burst shows the path's rate; all of a round trip, the flow's share of it.
        let seen = if self.late >= LATE_ROUNDS {
            Some(seen.map_or(round.flown(), |rate| rate.min(round.flown())))
        } else {
            seen
        };
        self.rate = seen.or(self.rate);
        let Some(rate) = self.rate else { return if queue > target { 0.5 * window } else { window } };
        let carried = self.carried(rate);
        if seen.is_some() || queue > target {
            self.free = 0;
            carried.clamp(window / 4.0, window.max(GROWTH * largest))
        } else if largest < 0.95 * carried {
            carried
        } else if window > largest + 2.0 * self.path.mtu as f64 {
            window
        } else if queue > (target / 4).max(SURE_QUEUE) {
            largest + rate * (seconds(target) - seconds(queue))
        } else {
            self.free += 1;
            if self.free == FREE_ROUNDS {
                self.rate = None;
            }
            largest + rate * seconds(QUEUE_TARGET)
        }
    }

    /// Leaves the path partly empty, so that the queue drains.
    fn begin_drain(&mut self, now: Duration) {
        let Some(rate) = self.rate else { return };
        self.drain.window = Some((self.path.window, now));
        let path = (self.path.min_rtt / 2).max(self.path.min_rtt.saturating_sub(DRAIN_DEPTH));
        self.path.window = whole(rate * seconds(path)).clamp(self.path.mtu, self.path.window.max(self.path.mtu));
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few windows at most, and positive")]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1200;

    /// A sender that always has packets to send, a link, and a peer that acknowledges.
    struct Simulation {
        controller: DelayController,
        now: Duration,
        /// When the link has sent all that it has, and how long it takes for a packet.
        free: Duration,
        packet: Duration,
        rtt: Duration,
        /// The peer acknowledges so many packets at once, or after so long.
        acks: (usize, Duration),
        /// When packets were sent and when they arrive, as far as they are not acknowledged.
        flying: VecDeque<(Duration, Duration)>,
        smoothed: Duration,
    }

    impl Simulation {
        fn new(rate: u64, rtt: u64, acks: (usize, u64)) -> Self {
            Self {
                controller: DelayController::new(MTU, Duration::ZERO),
                now: Duration::ZERO,
                free: Duration::ZERO,
                packet: Duration::from_secs_f64(MTU as f64 * 8.0 / rate as f64),
                rtt: Duration::from_millis(rtt),
                acks: (acks.0, Duration::from_millis(acks.1)),
                flying: VecDeque::new(),
                smoothed: Duration::ZERO,
            }
        }

        /// Runs until `end` milliseconds; gives what was delivered since the call, of what the link carries.
        fn run(&mut self, end: u64) -> f64 {
            let (began, before) = (self.now, self.controller.path().delivered);
            while self.now < Duration::from_millis(end) {
                self.send();
                self.acknowledge();
            }
            let packets = (self.now - began).as_secs_f64() / self.packet.as_secs_f64();
            (self.controller.path().delivered - before) as f64 / MTU as f64 / packets
        }

        fn send(&mut self) {
            while self.controller.path().in_flight + MTU <= self.controller.path().window {
                self.controller.handle_sent(self.now, MTU);
                self.free = self.free.max(self.now) + self.packet;
                self.flying.push_back((self.now, self.free + self.rtt));
            }
        }

        fn acknowledge(&mut self) {
            let late = self.flying[0].1 + self.acks.1;
            self.now = self.flying.get(self.acks.0 - 1).map_or(late, |(_, arrives)| late.min(*arrives));
            self.controller.handle_smoothed(self.smoothed);
            let mut newest = (Duration::ZERO, Duration::ZERO);
            while let Some(packet) = self.flying.pop_front_if(|(_, arrives)| *arrives <= self.now) {
                self.controller.handle_ack(self.now, packet.0, MTU);
                newest = packet;
            }
            let rtt = newest.1 - newest.0;
            self.smoothed = if self.smoothed.is_zero() { rtt } else { (7 * self.smoothed + rtt) / 8 };
            self.controller.handle_acks_end(self.now, self.flying.len() as u64 * MTU);
        }
    }

    #[test]
    fn on_an_empty_path_the_window_doubles_in_each_round_trip() {
        let mut simulation = Simulation::new(100_000_000, 100, (4, 4));
        for round in 1..=6 {
            simulation.run(110 * round);
            let window = simulation.controller.path().window;
            assert!(window >= INITIAL_WINDOW << (round - 1), "{window} after {round}");
        }
    }

    #[test]
    fn bursts_without_a_queue_are_no_fall() {
        let mut simulation = Simulation::new(1_000_000_000, 100, (4, 4));
        simulation.run(4000);
        assert_eq!(simulation.controller.path().falls, 0);
        assert_eq!(simulation.controller.path().window, MAX_WINDOW);
    }

    #[test]
    fn a_fall_shows_before_a_round_trip_is_over() {
        let mut simulation = Simulation::new(4_000_000, 50, (4, 4));
        simulation.run(3000);
        assert_eq!(simulation.controller.path().falls, 0);
        let window = simulation.controller.path().window;
        simulation.packet *= 10;
        simulation.run(3000 + 150);
        assert_eq!(simulation.controller.path().falls, 1);
        assert!(simulation.controller.path().window < window / 3);
    }

    #[test]
    fn acknowledgements_that_come_late_or_together_are_no_queue() {
        for rate in [1_000_000, 4_000_000, 10_000_000] {
            for rtt in [10, 50, 100] {
                let mut simulation = Simulation::new(rate, rtt, (10, 25));
                simulation.run(2000);
                let used = simulation.run(12_000);
                println!("{rate} bit/s, {rtt} ms: {used:.3}");
                assert!(used >= 0.9, "{rate} bit/s, {rtt} ms: {used}");
            }
        }
    }
}
