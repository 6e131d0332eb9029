//! Computes the window after a round trip: what the measured rate carries with a short queue; steps beyond it if no
//! queue shows; and limits from marks, a policer, disuse and loss.

use std::time::Duration;

use super::{DelayController, SURE_QUEUE};
use crate::path::delivery_rate_sampler::DeliveryRateSampler;
use crate::path::limits::{INITIAL_WINDOW, QUEUE_TARGET};
use crate::path::round::{Round, seconds};

/// Rounds without a queue after which a path counts as one of unknown, higher rate.
const FREE_ROUNDS: u32 = 2;
/// Rounds with too long a queue after which a flow's part of the path counts as less than the rate of its bursts.
const LATE_ROUNDS: u32 = 2;
/// The most growth of a window in a round trip with a queue, which another flow may have made.
const MAX_QUEUE_GROWTH: f64 = 1.25;
/// The part of a window that remains if too much is lost.
const LOSS_FACTOR: f64 = 0.7;
/// How long a window that is not filled remains valid (RFC 7661, section 4.3).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// The part that remains after a mark: more than after loss, because a router that marks keeps a short queue (RFC 8511,
/// section 4.1).
const MARK_FACTOR: f64 = 0.8;

impl DelayController {
    /// Returns the bytes in flight of a path of `rate` with a queue at its target, and a packet in transmission.
    pub(super) fn carried(&self, rate: f64) -> f64 {
        rate * seconds(self.path.min_rtt + self.ack_delay.mean() + self.target.of_share(&self.path, rate))
    }

    /// Returns the window that follows from the last round trip.
    pub(super) fn aim(&mut self, round: &Round) -> f64 {
        let shown = self.busy.take(self.path.mtu);
        let target = self.queue_target(round, shown);
        let shown = self.own_share(round, shown, target);
        self.rate = shown.or(self.rate);
        match self.rate {
            Some(rate) => self.aim_at_rate(round, rate, shown.is_some(), target),
            None => self.aim_without_rate(round, target),
        }
    }

    /// Returns the queue target for the rate `shown`, else for the last known rate, else for the round trip's own rate.
    fn queue_target(&self, round: &Round, shown: Option<f64>) -> Duration {
        let rate = shown.or(self.rate).unwrap_or_else(|| round.flown());
        self.target.of_share(&self.path, rate)
    }

    /// Returns this flow's part of the rate `shown`. Packets between others' in a burst show the path's rate; a whole
    /// round trip shows the flow's part of it, which counts after rounds with too long a queue.
    fn own_share(&mut self, round: &Round, shown: Option<f64>, target: Duration) -> Option<f64> {
        let is_late = round.mean_queue() > 3 * target / 2;
        self.late = if is_late { self.late + 1 } else { 0 };
        if self.late < LATE_ROUNDS {
            return shown;
        }
        let share = round.flown();
        Some(shown.map_or(share, |rate| rate.min(share)))
    }

    /// Returns half of the window if the queue is too long, while the path's rate is unknown.
    fn aim_without_rate(&self, round: &Round, target: Duration) -> f64 {
        let window = self.path.window as f64;
        if round.mean_queue() > target { 0.5 * window } else { window }
    }

    /// Returns the bytes in flight for a path of this `rate`; `shown` says whether a queue has confirmed it in this
    /// round.
    fn aim_at_rate(&mut self, round: &Round, rate: f64, shown: bool, target: Duration) -> f64 {
        let window = self.path.window as f64;
        let packet = self.path.mtu as f64;
        // Bytes sent before the window fell do not show what may be sent now.
        let largest = window.min(round.largest as f64);
        let queue = round.mean_queue();
        let carried = self.carried(rate);
        if shown || queue > target {
            self.free = 0;
            return carried.clamp(window / 4.0, window.max(MAX_QUEUE_GROWTH * largest));
        }
        if largest < 0.95 * carried {
            // Only whole packets are sent: one may not fit into a small window, and the path would wait for it.
            return if queue < SURE_QUEUE { carried.max(largest + packet) } else { carried };
        }
        if window > largest + 2.0 * packet {
            return window;
        }
        if queue > (target / 4).max(SURE_QUEUE) {
            return largest + rate * (seconds(target) - seconds(queue));
        }
        self.count_free_round();
        largest + rate * seconds(QUEUE_TARGET)
    }

    /// Counts a round in which the path was full and no queue showed: after some of these its rate is unknown.
    fn count_free_round(&mut self) {
        self.free += 1;
        // Recent samples belong to another rate.
        self.busy = DeliveryRateSampler::default();
        if self.free == FREE_ROUNDS {
            self.rate = None;
        }
    }

    /// Limits the window `aim`, in bytes, by marks, a policer, disuse and loss; `used` says whether the whole window
    /// was in flight.
    pub(super) fn limit(&mut self, now: Duration, round: &Round, used: bool, mut aim: f64) -> f64 {
        let window = self.path.window as f64;
        if round.marked && !self.competitive_mode.is_there() {
            // This holds while the window doubles, too: the bytes in flight were enough.
            self.rate = self.rate.or_else(|| Some(MARK_FACTOR * round.flown()));
            self.free = 0;
            aim = aim.min(MARK_FACTOR * window);
        }
        if let Some((rate, _)) = self.policer.rate() {
            // Bytes above the policer's rate wait in no queue that would slow them down.
            self.rate = Some(rate);
            self.free = 0;
            aim = rate * seconds(self.path.min_rtt + self.ack_delay.mean()) + self.path.mtu as f64;
        } else if !used {
            aim = aim.min(window);
        }
        if used {
            self.filled = now;
        } else if now.saturating_sub(self.filled) > NON_VALIDATED_PERIOD {
            // The path may have changed: the flow probes it again from twice the bytes in flight.
            aim = aim.min(2.0 * round.busiest as f64).max(INITIAL_WINDOW as f64);
            self.rate = None;
            self.filled = now;
        }
        if self.loss.is_congestion(round, self.path.mtu) { aim.min(LOSS_FACTOR * window) } else { aim }
    }
}
