//! How large a window the last round trip speaks for: what its rate carries behind a short queue, what steps try where no
//! queue shows, and what marks, a policer, disuse and loss leave of that.

use std::time::Duration;

use super::{DelayController, SURE_QUEUE};
use crate::path::busy::Busy;
use crate::path::limits::{INITIAL_WINDOW, QUEUE_TARGET};
use crate::path::round::{Round, seconds};

/// Rounds without a queue after which a path is taken for one of unknown, higher rate.
const FREE_ROUNDS: u32 = 2;
/// Rounds with too long a queue after which a flow's share is taken for less than the rate of its bursts.
const LATE_ROUNDS: u32 = 2;
/// How much a window grows in a round trip behind a queue, at most: another flow may have made that queue.
const GROWTH: f64 = 1.25;
/// How much of a window stays where too much is lost.
const CUT: f64 = 0.7;
/// A window that was not filled for so long is not known to fit the path any more (RFC 7661, section 4.3).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// How much stays where a packet was marked: more, since who marks keeps a short queue (RFC 8511, section 4.1).
const MARKED: f64 = 0.8;

impl DelayController {
    /// What a path that carries `rate` has in flight if its queue is as long as it should be, and a packet is being sent.
    pub(super) fn carried(&self, rate: f64) -> f64 {
        rate * seconds(self.path.min_rtt + self.held.mean() + self.target.of_share(&self.path, rate))
    }

    /// The window that the last round trip speaks for.
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

    /// How long the queue should be for the rate that was `shown`, the last one that was, or what the round trip had.
    fn queue_target(&self, round: &Round, shown: Option<f64>) -> Duration {
        let rate = shown.or(self.rate).unwrap_or_else(|| round.flown());
        self.target.of_share(&self.path, rate)
    }

    /// What `shown` tells of this flow's share. What comes between others' packets in a burst shows the path's rate; all of a round
    /// trip, the flow's share of it, which counts after rounds with too long a queue.
    fn own_share(&mut self, round: &Round, shown: Option<f64>, target: Duration) -> Option<f64> {
        let is_late = round.mean_queue() > 3 * target / 2;
        self.late = if is_late { self.late + 1 } else { 0 };
        if self.late < LATE_ROUNDS {
            return shown;
        }
        let share = round.flown();
        Some(shown.map_or(share, |rate| rate.min(share)))
    }

    /// While the path's rate is not known, half of the window is left where the queue is too long.
    fn aim_without_rate(&self, round: &Round, target: Duration) -> f64 {
        let window = self.path.window as f64;
        if round.mean_queue() > target { 0.5 * window } else { window }
    }

    /// What a path of this `rate` should have in flight, where a queue has `shown` that rate in this round or not.
    fn aim_at_rate(&mut self, round: &Round, rate: f64, shown: bool, target: Duration) -> f64 {
        let window = self.path.window as f64;
        let packet = self.path.mtu as f64;
        // What was sent before the window fell says nothing of what may be sent now.
        let largest = window.min(round.largest as f64);
        let queue = round.mean_queue();
        let carried = self.carried(rate);
        if shown || queue > target {
            self.free = 0;
            return carried.clamp(window / 4.0, window.max(GROWTH * largest));
        }
        if largest < 0.95 * carried {
            // Whole packets alone are sent: of a small window one may not fit, and the path waits for it.
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

    /// All that the path should carry was in flight, and no queue showed: after some such rounds its rate is unknown.
    fn count_free_round(&mut self) {
        self.free += 1;
        // What was seen of late was another rate.
        self.busy = Busy::default();
        if self.free == FREE_ROUNDS {
            self.rate = None;
        }
    }

    /// What marks, a policer, disuse and loss leave of the window that is aimed at, in bytes; `used` if all of it was in flight.
    pub(super) fn limit(&mut self, now: Duration, round: &Round, used: bool, mut aim: f64) -> f64 {
        let window = self.path.window as f64;
        if round.marked && !self.competition.is_there() {
            // Also while the window doubles: what flew was enough.
            self.rate = self.rate.or_else(|| Some(MARKED * round.flown()));
            self.free = 0;
            aim = aim.min(MARKED * window);
        }
        if let Some((rate, _)) = self.policer.rate() {
            // What exceeds it waits in no queue that would slow it down.
            self.rate = Some(rate);
            self.free = 0;
            aim = rate * seconds(self.path.min_rtt + self.held.mean()) + self.path.mtu as f64;
        } else if !used {
            aim = aim.min(window);
        }
        if used {
            self.filled = now;
        } else if now.saturating_sub(self.filled) > NON_VALIDATED_PERIOD {
            // The path of now may be another: it is tried from twice what was in flight on.
            aim = aim.min(2.0 * round.busiest as f64).max(INITIAL_WINDOW as f64);
            self.rate = None;
            self.filled = now;
        }
        if self.loss.is_congestion(round, self.path.mtu) { aim.min(CUT * window) } else { aim }
    }
}
