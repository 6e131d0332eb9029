//! A path's bandwidth and delay from acknowledged bytes: how much may be in flight so that the queue stays short.
//!
//! Once in a round trip the window becomes `window * (min_rtt + QUEUE_TARGET) / rtt`, the update of FAST TCP (Wei,
//! Jin, Low, Hegde 2006) with the wish for queued bytes stated as a time. So it falls to the right size in one round
//! trip after the rate falls, and doubles at most in each after it rises. Loss counts only where there is much of it.

use std::time::Duration;

use crate::limits::{
    INITIAL_WINDOW, LOSS_IS_CONGESTION, MAX_WINDOW, MIN_RTT_LIFE, MIN_WINDOW_PACKETS, QUEUE_TARGET, RECENT,
};

/// What is known of the path to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Bytes that were acknowledged since the connection began.
    pub delivered: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// Bytes that may be in flight.
    pub window: u64,
    /// The last round trip; zero if there was none yet.
    pub rtt: Duration,
    /// The shortest of the last 20 to 40 ms: what even the luckiest packet waits for.
    pub recent_rtt: Duration,
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

    /// How long every packet waits of late: a queue that does not drain.
    #[must_use]
    pub fn standing_queue(&self) -> Duration {
        self.recent_rtt.saturating_sub(self.min_rtt)
    }
}

impl Default for Path {
    fn default() -> Self {
        Self {
            delivered: 0,
            lost: 0,
            window: INITIAL_WINDOW,
            rtt: Duration::ZERO,
            recent_rtt: Duration::ZERO,
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
    recent: Shortest,
    round: Round,
    /// The shortest round trip in the batch of acknowledgements at hand: that of its newest packet, without the
    /// time that the peer held the acknowledgement back.
    newest: Option<Duration>,
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
    /// The sum of the round trips of its batches of acknowledgements, and how many those were.
    sum: Duration,
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
        let rtt = now.saturating_sub(sent);
        self.newest = Some(self.newest.map_or(rtt, |newest| newest.min(rtt)));
        if sent >= self.round.began {
            // The round is over once this batch is; marks it by a beginning that no later packet undercuts.
            self.round.began = Duration::MAX;
        }
    }

    /// All acknowledgements that came together were told; `in_flight` bytes are still on their way.
    pub fn handle_acks_end(&mut self, now: Duration, in_flight: u64) {
        let Some(rtt) = self.newest.take() else { return };
        self.path.rtt = rtt;
        self.path.min_rtt = self.shortest.of(now, rtt, MIN_RTT_LIFE);
        self.path.recent_rtt = self.recent.of(now, rtt, RECENT);
        self.round.sum += rtt;
        self.round.batches += 1;
        if self.round.began == Duration::MAX {
            self.end_round(now, in_flight);
        }
    }

    /// Bytes were sent; with them `in_flight` are on their way.
    pub fn handle_sent(&mut self, in_flight: u64) {
        self.round.busiest = self.round.busiest.max(in_flight);
    }

    /// Bytes were lost; `all` if nothing got through for long.
    pub fn handle_loss(&mut self, bytes: u64, all: bool) {
        self.path.lost += bytes;
        self.round.lost += bytes;
        if all {
            self.path.window = self.least();
        }
    }

    fn end_round(&mut self, now: Duration, in_flight: u64) {
        let round = std::mem::replace(&mut self.round, Round { began: now, busiest: in_flight, ..Round::default() });
        let rtt = (round.sum / round.batches.max(1)).max(Duration::from_micros(100));
        let wish = (self.path.min_rtt + QUEUE_TARGET).as_secs_f64() / rtt.as_secs_f64();
        // A window that was not used says nothing about a larger one.
        let most = if round.busiest + 2 * self.path.mtu >= self.path.window { 2.0 } else { 1.0 };
        let mut scale = wish.clamp(0.25, most);
        let lost = round.lost as f64 / (round.lost + round.delivered).max(1) as f64;
        if lost > LOSS_IS_CONGESTION && round.lost > self.path.mtu {
            scale = scale.min(0.7);
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "both factors are small and positive"
        )]
        let window = (self.path.window as f64 * scale) as u64;
        self.path.window = window.clamp(self.least(), MAX_WINDOW);
    }

    const fn least(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.path.mtu
    }
}
