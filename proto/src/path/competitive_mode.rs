//! Detects another flow that fills the queue until packets are lost, as loss-based congestion control does (CUBIC, RFC
//! 9438).
//!
//! A window that keeps the queue short would leave everything to such a flow. While it is there, this flow is in a
//! TCP-competitive mode: its window grows and is cut by loss like the other's, by CUBIC's law. Copa (Arun and
//! Balakrishnan 2018, section 4) changes between two modes for the same reason.

use std::time::Duration;

use crate::path::shortest::Shortest;

/// How long a queue that this flow did not make must last, or at least half of that. This flow's own queue vanishes in
/// each round-trip probe.
const STANDING_TIME: Duration = Duration::from_secs(5);
/// The least queue that remains at all times if a flow fills it.
const STANDING_QUEUE: Duration = Duration::from_millis(40);
/// The least mean queue with such a flow on long round trips, where its cuts, a part of path and queue together, empty
/// the queue again and again.
const MEAN_STANDING_QUEUE: Duration = Duration::from_millis(50);
/// The averaging time, and the longest queue that counts.
const AVERAGING_TIME: Duration = Duration::from_millis(2500);
const MAX_COUNTED_QUEUE: Duration = Duration::from_millis(200);
/// On shorter round trips, several flows like this one make queues of up to this many times the target of one alone.
const LONG_ROUND_TRIP: Duration = Duration::from_millis(75);
const TARGETS_OF_OTHERS: u32 = 3;
/// A queue above the first is another flow's if flows like this one do not make it; below the second there is none.
const LONG_QUEUE: Duration = Duration::from_millis(40);
const SHORT_QUEUE: Duration = Duration::from_millis(15);
/// Consecutive probe rounds that must find an empty queue before the other flow counts as gone: in a single one its
/// window may just have been cut.
const EMPTY_ROUNDS: u32 = 2;
/// How long such a flow is suspected after a long queue.
const SUSPICION_TIME: Duration = Duration::from_secs(5);
/// A shorter time without a long queue ends the suspicion: the queue was this flow's own.
const TRUST_TIME: Duration = Duration::from_secs(1);

/// The growth of a window in a round trip until the first loss in competitive mode: slow start that loses less than
/// doubling.
const START_GROWTH: f64 = 1.5;
/// CUBIC's constants (RFC 9438, section 4.1): the growth in packets a cubic second, and the part that a loss leaves.
const CUBIC_GROWTH: f64 = 0.4;
const CUBIC_CUT: f64 = 0.7;

/// The queue in a round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queue {
    /// The shortest queue that its packets met, whichever flow made it.
    pub(crate) standing: Duration,
    /// The target of one flow like this one if it has the path alone.
    pub(crate) target: Duration,
    /// The path's round trip without queues.
    pub(crate) min_rtt: Duration,
    /// Whether this flow had left the path partly empty.
    pub(crate) draining: bool,
}

impl Queue {
    /// Returns the longest queue that flows like this one make together.
    fn of_others_like_this(self) -> Duration {
        if self.min_rtt > LONG_ROUND_TRIP { Duration::ZERO } else { TARGETS_OF_OTHERS * self.target }
    }
}

/// The detector of such a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompetitiveMode {
    queue: Shortest,
    /// The mean queue in seconds, and when it was last updated.
    average: (f64, Duration),
    /// Consecutive probe rounds that found no queue.
    empty: u32,
    there: bool,
    /// When there last was a long queue.
    long: Option<Duration>,
    /// When there last was none.
    clear: Option<Duration>,
    /// When loss last cut this flow's window in competitive mode, and the window before, in packets.
    cut: Option<(Duration, f64)>,
}

impl CompetitiveMode {
    /// Processes the end of a round trip.
    pub(crate) fn handle_round(&mut self, now: Duration, queue: Queue) {
        let standing = queue.standing;
        self.queue.of(now, standing, true, STANDING_TIME);
        let (average, since) = &mut self.average;
        let passed = now.saturating_sub(std::mem::replace(since, now));
        let new = 1.0 - (-passed.as_secs_f64() / AVERAGING_TIME.as_secs_f64()).exp();
        *average += new * (standing.min(MAX_COUNTED_QUEUE).as_secs_f64() - *average);
        if standing > LONG_QUEUE {
            self.long = Some(now);
        } else {
            self.clear = Some(now);
        }
        if standing < SHORT_QUEUE {
            self.long = None;
        }
        if queue.draining {
            self.empty = if standing < SHORT_QUEUE { self.empty + 1 } else { 0 };
        }
        // If flows like this one make long queues too, a queue that vanishes for a moment was theirs.
        let ours = standing < SHORT_QUEUE && queue.of_others_like_this() > MEAN_STANDING_QUEUE;
        if self.there && (self.empty >= EMPTY_ROUNDS || ours) {
            // Both flows made the earlier queue: nothing is known of the present one.
            *self = Self { clear: self.clear, average: (0.0, now), ..Self::default() };
        } else {
            self.there = self.there || self.stands(queue);
        }
        if !self.there {
            self.cut = None;
            self.empty = 0;
        }
    }

    /// Returns whether there is a queue that flows like this one would not make.
    fn stands(&self, queue: Queue) -> bool {
        self.queue.of_a_while().is_some_and(|queue| queue > STANDING_QUEUE)
            || self.average.0 > queue.of_others_like_this().max(MEAN_STANDING_QUEUE).as_secs_f64()
    }

    /// Returns the window in competitive mode, in packets, of which `window` were used in a round trip of `rtt`; `lost`
    /// says whether packets were lost in it. It follows CUBIC (RFC 9438, section 4.2), so that both flows get the same.
    /// It starts from what the other flow left, so it grows by a half until the first loss.
    pub(crate) fn window(&mut self, now: Duration, rtt: Duration, window: f64, lost: bool) -> f64 {
        let Some((cut, before)) = self.cut.filter(|(cut, _)| !lost || now.saturating_sub(*cut) <= rtt) else {
            if !lost {
                return START_GROWTH * window;
            }
            self.cut = Some((now, window));
            return CUBIC_CUT * window;
        };
        let full = (before * (1.0 - CUBIC_CUT) / CUBIC_GROWTH).cbrt();
        let cubic = before + CUBIC_GROWTH * (now.saturating_sub(cut).as_secs_f64() - full).powi(3);
        // Section 4.3: at least Reno's window, which grows faster on short round trips.
        let reno = window + 1.0;
        cubic.clamp(reno, reno.max(1.5 * window))
    }

    /// Returns whether there may be such a flow. If so, this flow probes the path more often, and remembers the path's
    /// shortest round trip for longer.
    pub(crate) fn is_suspected(&self, now: Duration) -> bool {
        let within = |at: Option<Duration>, time| at.is_some_and(|at| now.saturating_sub(at) < time);
        self.there || within(self.long, SUSPICION_TIME) && !within(self.clear, TRUST_TIME)
    }

    /// Returns whether there is such a flow: its queue lasted long, and still does.
    pub(crate) const fn is_there(&self) -> bool {
        self.there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Queue = Queue {
        standing: Duration::ZERO,
        target: Duration::from_millis(15),
        min_rtt: Duration::from_millis(10),
        draining: false,
    };

    /// Returns the detector's result after five seconds, for `queue` in milliseconds by time, over a round trip of
    /// `min_rtt` milliseconds.
    fn after(min_rtt: u64, queue: impl Fn(u64) -> u64) -> bool {
        let mut competitive_mode = CompetitiveMode::default();
        for moment in (0..5000).step_by(10) {
            let queue = Queue {
                standing: Duration::from_millis(queue(moment)),
                min_rtt: Duration::from_millis(min_rtt),
                draining: moment % 1000 == 0,
                ..PATH
            };
            competitive_mode.handle_round(Duration::from_millis(moment), queue);
        }
        competitive_mode.is_there()
    }

    #[test]
    fn beside_another_the_window_follows_cubic_and_is_cut_once_a_round_trip() {
        let second = Duration::from_secs(1);
        let rtt = Duration::from_millis(100);
        let mut competitive_mode = CompetitiveMode::default();
        assert_eq!(competitive_mode.window(second, rtt, 60.0, false), 90.0, "until the first loss");
        assert_eq!(competitive_mode.window(2 * second, rtt, 100.0, true), 70.0);
        assert!(competitive_mode.window(2 * second + rtt / 2, rtt, 70.0, true) >= 71.0, "it was cut for that");
        // The window is 100 packets again after the cube root of 100 * 0.3 / 0.4 seconds.
        let full = 2 * second + Duration::from_secs_f64(75.0_f64.cbrt());
        assert!((competitive_mode.window(full, rtt, 90.0, false) - 100.0).abs() < 0.01);
        assert!(competitive_mode.window(full + second, rtt, 99.0, false) > 100.0);
        assert!((competitive_mode.window(full + 2 * second, rtt, 110.0, true) - 77.0).abs() < 0.01, "another loss");
    }

    #[test]
    fn a_long_queue_that_stands_is_another_flows() {
        assert!(after(10, |_| 60));
        assert!(!after(10, |_| 15), "the queue is short");
        assert!(!after(10, |now| if now % 1000 == 0 { 5 } else { 40 }), "it is gone when this flow's window shrinks");
        assert!(!after(10, |now| if now < 4000 { 5 } else { 60 }), "it has not stood for long");
        assert!(after(10, |now| if now < 4000 { 60 } else { 20 }), "the other's window was cut");
    }

    #[test]
    fn on_a_long_round_trip_a_queue_that_is_long_on_average_is_another_flows() {
        let saw = |now: u64| 10 + now % 2500 / 25;
        assert!(after(100, saw), "between 10 and 110 ms");
        assert!(!after(100, |now| saw(now) / 2));
        let slow = |now| 10 + now % 1000 / 20;
        assert!(!after(50, slow) && !after(100, slow), "as that of four flows like this one at 1 Mbit/s");
    }

    #[test]
    fn the_other_is_gone_when_two_drains_in_a_row_find_no_queue() {
        let mut competitive_mode = CompetitiveMode::default();
        let mut round = |milliseconds: u64, standing: u64, draining| {
            let queue = Queue { standing: Duration::from_millis(standing), draining, ..PATH };
            competitive_mode.handle_round(Duration::from_millis(milliseconds), queue);
            competitive_mode.is_there()
        };
        assert!((0..600).map(|at| round(10 * at, 60, false)).next_back().unwrap_or_default());
        assert!(round(6010, 5, false), "its window was cut");
        assert!(round(6020, 5, true), "just before this flow's shrank");
        assert!(round(6030, 30, true) && round(11_000, 5, true));
        assert!(!round(16_000, 5, true));
    }

    #[test]
    fn the_queue_that_stood_beside_another_does_not_bring_it_back_once_it_is_gone() {
        let mut competitive_mode = CompetitiveMode::default();
        let mut round = |milliseconds: u64, standing: u64, draining| {
            let queue = Queue { standing: Duration::from_millis(standing), draining, ..PATH };
            competitive_mode.handle_round(Duration::from_millis(milliseconds), queue);
            competitive_mode.is_there()
        };
        assert!((0..200).map(|at| round(50 * at, 150, false)).next_back().unwrap_or_default());
        assert!(round(10_000, 5, true));
        assert!(!round(10_050, 5, true), "two drains found no queue");
        assert!(!round(10_100, 5, false));
        assert!(!(203..260).any(|at| round(50 * at, 30, false)), "this flow's own queue");
        assert!((260..420).any(|at| round(50 * at, 150, false)), "another one came");
    }
}
