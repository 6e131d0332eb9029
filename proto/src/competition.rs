//! Finds that another flow fills the queue until packets are lost, as loss-based congestion control does (CUBIC, RFC 9438).
//!
//! A window that keeps the queue short would leave such a flow everything. Beside it the window grows and is cut by loss as
//! the other's is, by CUBIC's law; Copa (Arun and Balakrishnan 2018, section 4) changes between two modes for the
//! same reason.

use std::time::Duration;

use crate::shortest::Shortest;

/// For how long a queue must stand that this flow did not make, half of it at least. This flow's own is gone in each round
/// in which its window shrinks to see the path without a queue.
const STANDS: Duration = Duration::from_secs(5);
/// So much stands all the time before a flow that fills the queue.
const STANDING: Duration = Duration::from_millis(40);
/// More than that stands, and more than flows like this one make together; less than the other leaves there is none.
const LONG: Duration = Duration::from_millis(40);
const SHORT: Duration = Duration::from_millis(15);
/// For how long such a flow is suspected behind a long queue.
const SUSPICION: Duration = Duration::from_secs(5);
/// Since a moment without a long queue it is not: that queue was this flow's own.
const TRUST: Duration = Duration::from_secs(1);

/// CUBIC's constants (RFC 9438, section 4.1): how fast a window grows, in packets a cubic second, and what a loss leaves.
const CUBIC_GROWTH: f64 = 0.4;
const CUBIC_CUT: f64 = 0.7;

/// Whether there is such a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Competition {
    queue: Shortest,
    there: bool,
    /// When a long queue last stood.
    long: Option<Duration>,
    /// When none did.
    clear: Option<Duration>,
    /// When this flow's window was last cut beside the other, and what it was before, in packets.
    cut: Option<(Duration, f64)>,
}

impl Competition {
    /// All packets of a round trip met a queue, of at least `standing`.
    pub(crate) fn handle_round(&mut self, now: Duration, standing: Duration) {
        self.queue.of(now, standing, true, STANDS);
        if standing > LONG {
            self.long = Some(now);
        } else {
            self.clear = Some(now);
        }
        if standing < SHORT {
            self.long = None;
        }
        self.there =
            if self.there { standing > SHORT } else { self.queue.of_a_while().is_some_and(|queue| queue > STANDING) };
        if !self.there {
            self.cut = None;
        }
    }

    /// The window beside it, in packets of which `window` were used in a round trip of `rtt`, in which some were `lost`: CUBIC's own
    /// (RFC 9438, section 4.2), so that both get the same.
    pub(crate) fn window(&mut self, now: Duration, rtt: Duration, window: f64, lost: bool) -> f64 {
        let (cut, before) = *self.cut.get_or_insert((now, window / CUBIC_CUT));
        if lost && now.saturating_sub(cut) > rtt {
            self.cut = Some((now, window));
            return CUBIC_CUT * window;
        }
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

    /// What is found after a queue of so many milliseconds for five seconds.
    fn after(queue: impl Fn(u64) -> u64) -> bool {
        let mut competition = Competition::default();
        for moment in (0..5000).step_by(10) {
            competition.handle_round(Duration::from_millis(moment), Duration::from_millis(queue(moment)));
        }
        competition.is_there()
    }

    #[test]
    fn beside_another_the_window_follows_cubic_and_is_cut_once_a_round_trip() {
        let (second, rtt) = (Duration::from_secs(1), Duration::from_millis(100));
        let mut competition = Competition::default();
        competition.window(second, rtt, 70.0, false);
        assert_eq!(competition.window(2 * second, rtt, 100.0, true), 70.0);
        assert!(competition.window(2 * second + rtt / 2, rtt, 70.0, true) >= 71.0, "it was cut for that");
        // 100 packets again after the cube root of 100 * 0.3 / 0.4 seconds.
        let full = 2 * second + Duration::from_secs_f64(75.0_f64.cbrt());
        assert!((competition.window(full, rtt, 90.0, false) - 100.0).abs() < 0.01);
        assert!(competition.window(full + second, rtt, 99.0, false) > 100.0);
    }

    #[test]
    fn a_long_queue_that_stands_is_another_flows() {
        assert!(after(|_| 60));
        assert!(!after(|_| 15), "the queue is short");
        assert!(!after(|now| if now % 1000 == 0 { 5 } else { 60 }), "it is gone when this flow's window shrinks");
        assert!(!after(|now| if now < 4000 { 5 } else { 60 }), "it has not stood for long");
        assert!(after(|now| if now < 4000 { 60 } else { 20 }), "the other's window was cut");
        assert!(!after(|now| if now < 4000 { 60 } else { 5 }), "the other is gone");
    }
}
