//! Finds that another flow fills the queue until packets are lost, as loss-based congestion control does (CUBIC, RFC 9438).
//!
//! A window that keeps the queue short would leave such a flow everything. Beside it the window grows and is cut by loss as
//! the other's is (AIMD: Chiu and Jain 1989); Copa (Arun and Balakrishnan 2018, section 4) changes between two modes for the
//! same reason.

use std::time::Duration;

use crate::shortest::Shortest;

/// For how long a queue must stand that this flow did not make, half of it at least. This flow's own is gone in each round
/// in which its window shrinks to see the path without a queue.
const STANDS: Duration = Duration::from_secs(3);
/// More than that stands, and more than flows like this one make together; less than the other leaves there is none.
const LONG: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(15);
/// For how long such a flow is suspected behind a long queue.
const SUSPICION: Duration = Duration::from_secs(5);

/// Whether there is such a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Competition {
    queue: Shortest,
    there: bool,
    /// When a long queue last stood.
    long: Option<Duration>,
}

impl Competition {
    /// All packets of a round trip met a queue, of at least `standing`.
    pub(crate) fn handle_round(&mut self, now: Duration, standing: Duration) {
        self.queue.of(now, standing, true, STANDS);
        if standing > LONG {
            self.long = Some(now);
        } else if standing < SHORT {
            self.long = None;
        }
        self.there =
            if self.there { standing > SHORT } else { self.queue.of_a_while().is_some_and(|queue| queue > LONG) };
    }

    /// Whether there may be one: this flow looks at the path without its own queue more often then, and remembers for longer
    /// how long the path's round trip was.
    pub(crate) fn is_suspected(&self, now: Duration) -> bool {
        self.there || self.long.is_some_and(|long| now.saturating_sub(long) < SUSPICION)
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
    fn a_long_queue_that_stands_is_another_flows() {
        assert!(after(|_| 60));
        assert!(!after(|_| 15), "the queue is short");
        assert!(!after(|now| if now % 1000 == 0 { 5 } else { 60 }), "it is gone when this flow's window shrinks");
        assert!(!after(|now| if now < 4000 { 5 } else { 60 }), "it has not stood for long");
        assert!(after(|now| if now < 4000 { 60 } else { 20 }), "the other's window was cut");
        assert!(!after(|now| if now < 4000 { 60 } else { 5 }), "the other is gone");
    }
}
