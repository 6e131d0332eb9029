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
        }
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
    /// When the path was last seen without a queue.
    drained: Duration,
    /// The window to return to after a round in which the queue drains.
    draining: Option<u64>,
    /// The newest packet in the batch of acknowledgements at hand: its round trip, without the time that the peer held
    /// the acknowledgement back, and the bytes that were in flight with it.
    newest: Option<(Duration, u64)>,
    falls: Falls,
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

/// One round trip: it ends when a packet is acknowledged that was sent after it began.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    began: Duration,
    /// Of its batches of acknowledgements: the sum of the round trips, and of the bytes in flight.
    time: Duration,
    flight: u64,
    batches: u32,
    /// Most bytes in flight.
    busiest: u64,
    delivered: u64,
    lost: u64,
}

impl Estimator {
    /// For packets of `mtu` bytes.
    #[must_use]
    pub fn new(mtu: u64) -> Self {
        Self { path: Path { mtu, ..Path::default() }, ..Self::default() }
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
        while self.sent.front().is_some_and(|(at, _)| *at < sent) {
            self.sent.pop_front();
        }
        if let Some((at, flight)) = self.sent.front_mut().filter(|(at, _)| *at == sent) {
            *flight += bytes;
            self.newest = Some((now.saturating_sub(*at), *flight));
        }
        if sent >= self.round.began {
            // The round is over once this batch is; marks it by a beginning that no later packet undercuts.
            self.round.began = Duration::MAX;
        }
    }

    /// All acknowledgements that came together were told; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        self.path.in_flight = in_flight;
        let Some((rtt, flight)) = self.newest.take() else { return };
        self.path.rtt = rtt;
        self.path.min_rtt = self.shortest.of(now, rtt, MIN_RTT_LIFE);
        if rtt <= self.path.min_rtt + self.path.min_rtt / 8 + NO_QUEUE {
            self.drained = now;
        }
        self.round.time += rtt;
        self.round.flight += flight;
        self.round.batches += 1;
        if self.round.began == Duration::MAX {
            self.end_round(now, in_flight);
        }
        self.watch_falls(now, in_flight);
    }

    /// Takes the window down at once if the path delivers less than half of what it is for.
    fn watch_falls(&mut self, now: Duration, in_flight: u64) {
        let busy = 2 * in_flight >= self.path.window && self.draining.is_none();
        let Some(rate) = self.falls.rate(now, self.path.delivered, busy) else { return };
        let aim = whole(rate * self.wish(rate)).max(self.least());
        if self.falls.certain(now, 2 * aim < self.path.window) {
            self.path.window = aim;
            self.falls = Falls::default();
            self.round = Round { began: now, busiest: in_flight, ..Round::default() };
        }
    }

    /// The round trip that a window is for, in seconds, where the path carries `rate` bytes a second.
    fn wish(&self, rate: f64) -> f64 {
        let packet = self.path.mtu as f64 / rate.max(1.0);
        let (least, most) = (QUEUE_LEAST.as_secs_f64(), QUEUE_TARGET.as_secs_f64());
        let queue = (QUEUE_PACKETS * packet).clamp(least, most);
        // The shortest round trip may be that of a small packet; the time that sending a whole one takes is no queue.
        self.path.min_rtt.as_secs_f64() + queue + packet.min(most)
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
            self.draining = None;
        }
    }

    fn end_round(&mut self, now: Duration, in_flight: u64) {
        let round = std::mem::replace(&mut self.round, Round { began: now, busiest: in_flight, ..Round::default() });
        if let Some(window) = self.draining.take() {
            self.path.window = window;
            self.drained = now;
            return;
        }
        let window = self.path.window as f64;
        let rate = round.flight as f64 / round.time.max(Duration::from_micros(100)).as_secs_f64();
        let wish = self.wish(rate);
        let mut aim = (rate * wish).clamp(window / 4.0, window * 2.0);
        // Without a queue the path may carry more than was tried, and a window that was not used tells nothing.
        if wish * f64::from(round.batches) >= round.time.as_secs_f64() {
            let used = round.busiest + self.path.mtu >= self.path.window;
            aim = if used { aim.max(window) } else { window };
        }
        let lost = round.lost as f64 / (round.lost + round.delivered).max(1) as f64;
        if lost > LOSS_IS_CONGESTION && round.lost > self.path.mtu {
            aim = aim.min(window * 0.7);
        }
        self.path.window = whole(aim).clamp(self.least(), MAX_WINDOW);
        if now.saturating_sub(self.drained) > DRAIN_EVERY {
            self.draining = Some(self.path.window);
            // Half of what the path holds without a queue.
            let path = self.path.min_rtt.as_secs_f64() / wish / 2.0;
            self.path.window = whole(self.path.window as f64 * path).max(self.path.mtu);
        }
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few windows at most, and positive")]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}
