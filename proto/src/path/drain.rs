//! When a flow leaves the path partly empty, so that the path is seen without its queue.
//!
//! All flows do that at the same moments of a clock that they share: those behind one link see it without the others' queues
//! too, or who came last would take theirs for the path.

use std::time::Duration;

use crate::path::round::{seconds, whole};

/// How often the queue is drained to see the path without it, well within that life; costs a round trip's bytes at most.
const DRAIN_EVERY: Duration = Duration::from_secs(5);
/// How much less than the shortest round trip is in flight then, if that is not half of it: as long as a queue that was taken
/// for the path may be.
const DRAIN_DEPTH: Duration = Duration::from_millis(30);
/// How long that takes at least: flows that share a link begin within a round trip of each other.
const DRAIN_LEAST: Duration = Duration::from_millis(30);
/// The same while a queue stands that another flow may have made.
const DRAIN_SUSPECTED: Duration = Duration::from_millis(1000);

/// The round trip in which the queue drains.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drain {
    /// The window to return to, and when it began.
    window: Option<(u64, Duration)>,
    /// What the sender's clock says at the zero of this flow's.
    clock: Duration,
    /// When turns were last looked at.
    looked: Duration,
}

impl Drain {
    /// `clock` is the time on the clock that all flows of a sender share, when this one's begins.
    pub(crate) fn new(clock: Duration) -> Self {
        Self { clock, ..Self::default() }
    }

    /// The window to return to, while the queue drains.
    pub(crate) fn window(&self) -> Option<u64> {
        self.window.map(|(window, _)| window)
    }

    /// Whether a turn came since the last call; they come more often where another flow is `suspected`.
    pub(crate) fn is_due(&mut self, now: Duration, suspected: bool) -> bool {
        let every = if suspected { DRAIN_SUSPECTED } else { DRAIN_EVERY };
        let turn = |at: Duration| (self.clock + at).as_nanos() / every.as_nanos();
        turn(now) != turn(std::mem::replace(&mut self.looked, now))
    }

    /// Begins, on a path that carries `rate` bytes a second, `min_rtt` long; gives the window until [`Drain::end`], of `mtu` bytes
    /// at least.
    pub(crate) fn begin(&mut self, now: Duration, window: u64, (rate, min_rtt): (f64, Duration), mtu: u64) -> u64 {
        self.window = Some((window, now));
        let path = (min_rtt / 2).max(min_rtt.saturating_sub(DRAIN_DEPTH));
        whole(rate * seconds(path)).clamp(mtu, window.max(mtu))
    }

    /// A round trip of `rtt` is over: the window to return to, if the queue has drained for long enough.
    pub(crate) fn end(&mut self, now: Duration, rtt: Duration) -> Option<u64> {
        let (window, since) = self.window?;
        if now.saturating_sub(since) < DRAIN_LEAST.max(rtt) {
            return None;
        }
        self.window = None;
        Some(window)
    }

    /// Nothing drains any longer.
    pub(crate) fn give_up(&mut self) {
        self.window = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn turns_come_with_the_clock_and_a_suspicion_makes_none_by_itself() {
        let mut drain = Drain::new(ms(4000));
        let due: Vec<_> = [500, 900, 1100, 1200].map(|at| drain.is_due(ms(at), false)).into();
        assert_eq!(due, [false, false, true, false], "at five seconds of the clock");
        assert!(!drain.is_due(ms(1300), true), "that turn was taken");
        assert!(drain.is_due(ms(2100), true), "the next second");
    }

    #[test]
    fn the_window_comes_again_when_the_queue_has_had_its_time() {
        let mut drain = Drain::default();
        assert_eq!(drain.begin(ms(10), 9000, (100_000.0, ms(40)), 1200), 2000, "half of the path");
        assert_eq!(drain.end(ms(30), ms(10)), None, "too soon");
        assert_eq!(drain.end(ms(50), ms(10)), Some(9000));
        assert_eq!(drain.window(), None);
    }
}
