//! Finds that another flow fills the queue until packets are lost, as loss-based congestion control does (CUBIC, RFC 9438).
//!
//! A window that keeps the queue short would leave such a flow everything. Beside it the window grows and is cut by loss as
//! the other's is, by CUBIC's law; Copa (Arun and Balakrishnan 2018, section 4) changes between two modes for the
//! same reason.

use std::time::Duration;

use crate::path::shortest::Shortest;

/// For how long a queue must stand that this flow did not make, half of it at least. This flow's own is gone in each round
/// in which its window shrinks to see the path without a queue.
const STANDS: Duration = Duration::from_secs(5);
/// So much stands all the time before a flow that fills the queue.
const STANDING: Duration = Duration::from_millis(40);
/// So much stands on average where such a flow's cuts, which are a share of the path and the queue together, empty it again and
/// again: on long round trips.
const STANDING_ON_AVERAGE: Duration = Duration::from_millis(50);
/// Over which time, and what of a queue counts at most.
const AVERAGED: Duration = Duration::from_millis(2500);
const COUNTED: Duration = Duration::from_millis(200);
/// On shorter round trips flows like this one make queues of up to this many times what one alone aims at.
const LONG_ROUND_TRIP: Duration = Duration::from_millis(75);
const QUEUES: u32 = 3;
/// More than that stands, and more than flows like this one make together; less than the other leaves there is none.
const LONG: Duration = Duration::from_millis(40);
const SHORT: Duration = Duration::from_millis(15);
/// Rounds in a row that must find the queue empty while this flow's drains, before the other is taken for gone: in one its window may have been
/// cut just before.
const EMPTY_ROUNDS: u32 = 2;
/// For how long such a flow is suspected behind a long queue.
const SUSPICION: Duration = Duration::from_secs(5);
/// Since a moment without a long queue it is not: that queue was this flow's own.
const TRUST: Duration = Duration::from_secs(1);

/// How much a window grows in a round trip until the first loss beside the other: that is slow start, with less lost than by doubling.
const START: f64 = 1.5;
/// CUBIC's constants (RFC 9438, section 4.1): how fast a window grows, in packets a cubic second, and what a loss leaves.
const CUBIC_GROWTH: f64 = 0.4;
const CUBIC_CUT: f64 = 0.7;

/// What a round trip showed of the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queue {
    /// All packets met one of at least this length, whoever made it.
    pub(crate) standing: Duration,
    /// What one flow like this one aims at if it has the path alone.
    pub(crate) target: Duration,
    /// The path's round trip without queues.
    pub(crate) min_rtt: Duration,
    /// This flow had left the path partly empty.
    pub(crate) draining: bool,
}

impl Queue {
    /// How long a queue flows like this one make together, at most.
    fn of_others_like_this(self) -> Duration {
        if self.min_rtt > LONG_ROUND_TRIP { Duration::ZERO } else { QUEUES * self.target }
    }
}

/// Whether there is such a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Competition {
    queue: Shortest,
    /// The queue's average, in seconds, as of a moment.
    average: (f64, Duration),
    /// Rounds in a row that found none while this flow's drained.
    empty: u32,
    there: bool,
    /// When a long queue last stood.
    long: Option<Duration>,
    /// When none did.
    clear: Option<Duration>,
    /// When this flow's window was last cut beside the other, and what it was before, in packets.
    cut: Option<(Duration, f64)>,
}

impl Competition {
    /// A round trip is over.
    pub(crate) fn handle_round(&mut self, now: Duration, queue: Queue) {
        let standing = queue.standing;
        self.queue.of(now, standing, true, STANDS);
        let (average, since) = &mut self.average;
        let passed = now.saturating_sub(std::mem::replace(since, now));
        let new = 1.0 - (-passed.as_secs_f64() / AVERAGED.as_secs_f64()).exp();
        *average += new * (standing.min(COUNTED).as_secs_f64() - *average);
        if standing > LONG {
            self.long = Some(now);
        } else {
            self.clear = Some(now);
        }
        if standing < SHORT {
            self.long = None;
        }
        if queue.draining {
            self.empty = if standing < SHORT { self.empty + 1 } else { 0 };
        }
        // Where flows like this one make long queues too, one that is gone for a moment was theirs.
        let ours = standing < SHORT && queue.of_others_like_this() > STANDING_ON_AVERAGE;
        if self.there && (self.empty >= EMPTY_ROUNDS || ours) {
            // The queue of before was made by both: of what stands now nothing is known.
            *self = Self { clear: self.clear, average: (0.0, now), ..Self::default() };
        } else {
            self.there = self.there || self.stands(queue);
        }
        if !self.there {
            self.cut = None;
            self.empty = 0;
        }
    }

    /// Whether a queue stands that flows like this one would not make.
    fn stands(&self, queue: Queue) -> bool {
        self.queue.of_a_while().is_some_and(|queue| queue > STANDING)
            || self.average.0 > queue.of_others_like_this().max(STANDING_ON_AVERAGE).as_secs_f64()
    }

    /// The window beside it, in packets of which `window` were used in a round trip of `rtt`, in which some were `lost`: CUBIC's own
    /// (RFC 9438, section 4.2), so that both get the same. It starts from what the other left of it, so it grows by a half until
    /// the first loss.
    pub(crate) fn window(&mut self, now: Duration, rtt: Duration, window: f64, lost: bool) -> f64 {
        let Some((cut, before)) = self.cut.filter(|(cut, _)| !lost || now.saturating_sub(*cut) <= rtt) else {
            if !lost {
                return START * window;
            }
            self.cut = Some((now, window));
            return CUBIC_CUT * window;
        };
        let full = (before * (1.0 - CUBIC_CUT) / CUBIC_GROWTH).cbrt();
        let cubic = before + CUBIC_GROWTH * (now.saturating_sub(cut).as_secs_f64() - full).powi(3);
        // Section 4.3: no less than Reno, which on short round trips is faster.
        let reno = window + 1.0;
        cubic.clamp(reno, reno.max(1.5 * window))
    }

    /// Whether there may be one: this flow looks at the path without its own queue more often then, and remembers for longer
    /// how long the path's round trip was.
    pub(crate) fn is_suspected(&self, now: Duration) -> bool {
        let within = |at: Option<Duration>, time| at.is_some_and(|at| now.saturating_sub(at) < time);
        self.there || within(self.long, SUSPICION) && !within(self.clear, TRUST)
    }

    /// Whether there is one: its queue stood for long, and still does.
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

    /// What is found after five seconds of queues of so many milliseconds, over a round trip of so many.
    fn after(min_rtt: u64, queue: impl Fn(u64) -> u64) -> bool {
        let mut competition = Competition::default();
        for moment in (0..5000).step_by(10) {
            let queue = Queue {
                standing: Duration::from_millis(queue(moment)),
                min_rtt: Duration::from_millis(min_rtt),
                draining: moment % 1000 == 0,
                ..PATH
            };
            competition.handle_round(Duration::from_millis(moment), queue);
        }
        competition.is_there()
    }

    #[test]
    fn beside_another_the_window_follows_cubic_and_is_cut_once_a_round_trip() {
        let second = Duration::from_secs(1);
        let rtt = Duration::from_millis(100);
        let mut competition = Competition::default();
        assert_eq!(competition.window(second, rtt, 60.0, false), 90.0, "until the first loss");
        assert_eq!(competition.window(2 * second, rtt, 100.0, true), 70.0);
        assert!(competition.window(2 * second + rtt / 2, rtt, 70.0, true) >= 71.0, "it was cut for that");
        // 100 packets again after the cube root of 100 * 0.3 / 0.4 seconds.
        let full = 2 * second + Duration::from_secs_f64(75.0_f64.cbrt());
        assert!((competition.window(full, rtt, 90.0, false) - 100.0).abs() < 0.01);
        assert!(competition.window(full + second, rtt, 99.0, false) > 100.0);
        assert!((competition.window(full + 2 * second, rtt, 110.0, true) - 77.0).abs() < 0.01, "another loss");
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
        let mut competition = Competition::default();
        let mut round = |milliseconds: u64, standing: u64, draining| {
            let queue = Queue { standing: Duration::from_millis(standing), draining, ..PATH };
            competition.handle_round(Duration::from_millis(milliseconds), queue);
            competition.is_there()
        };
        assert!((0..600).map(|at| round(10 * at, 60, false)).next_back().unwrap_or_default());
        assert!(round(6010, 5, false), "its window was cut");
        assert!(round(6020, 5, true), "just before this flow's shrank");
        assert!(round(6030, 30, true) && round(11_000, 5, true));
        assert!(!round(16_000, 5, true));
    }

    #[test]
    fn the_queue_that_stood_beside_another_does_not_bring_it_back_once_it_is_gone() {
        let mut competition = Competition::default();
        let mut round = |milliseconds: u64, standing: u64, draining| {
            let queue = Queue { standing: Duration::from_millis(standing), draining, ..PATH };
            competition.handle_round(Duration::from_millis(milliseconds), queue);
            competition.is_there()
        };
        assert!((0..200).map(|at| round(50 * at, 150, false)).next_back().unwrap_or_default());
        assert!(round(10_000, 5, true));
        assert!(!round(10_050, 5, true), "two drains found no queue");
        assert!(!round(10_100, 5, false));
        assert!(!(203..260).any(|at| round(50 * at, 30, false)), "this flow's own queue");
        assert!((260..420).any(|at| round(50 * at, 150, false)), "another one came");
    }
}
