//! Detects that a path's rate fell, from deliveries: a growing queue makes round trips long, so they report the fall
//! too late.

use std::collections::VecDeque;
use std::time::Duration;

/// The span over which deliveries are counted, and how long they must be too few.
const FALL_SEEN: Duration = Duration::from_millis(25);
const FALL_CERTAIN: Duration = Duration::from_millis(4);

/// The deliveries of a path while it has enough to carry.
#[derive(Debug, Clone, Default)]
pub(crate) struct RateDropDetector {
    /// When acknowledgements came, and the bytes delivered by then, while more than half of a window was in flight.
    delivered: VecDeque<(Duration, u64)>,
    /// Since when deliveries are too few for the window.
    since: Option<Duration>,
}

impl RateDropDetector {
    /// Processes acknowledgements; `busy` if the path had enough to carry. Returns its rate in bytes a second, once it
    /// has been measured for long enough.
    pub(crate) fn rate(&mut self, now: Duration, delivered: u64, busy: bool) -> Option<f64> {
        if !busy {
            *self = Self::default();
            return None;
        }
        self.delivered.push_back((now, delivered));
        while self.delivered.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) >= FALL_SEEN) {
            self.delivered.pop_front();
        }
        let (then, before) = *self.delivered.front()?;
        let time = now.saturating_sub(then);
        (time >= FALL_SEEN).then(|| (delivered - before) as f64 / time.as_secs_f64())
    }

    /// Returns whether deliveries have been too few for a while: delayed acknowledgements come one after another.
    pub(crate) fn certain(&mut self, now: Duration, few: bool) -> bool {
        let since = *self.since.get_or_insert(now);
        if !few {
            self.since = None;
        }
        few && now.saturating_sub(since) >= FALL_CERTAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_rate_is_that_of_the_last_while_if_the_path_was_busy() {
        let mut rate_drops = RateDropDetector::default();
        let rates: Vec<_> = (0..=10).map(|i| rate_drops.rate(at(5 * i), 5000 * i, true)).collect();
        assert_eq!(rates[4..6], [None, Some(1e6)]);
        assert_eq!(rate_drops.rate(at(75), 50_000, true), Some(0.0), "nothing came");
        assert_eq!(rate_drops.rate(at(80), 80_000, false), None);
        assert_eq!(rate_drops.rate(at(100), 81_000, true), None, "it was idle");
    }

    #[test]
    fn acknowledgements_that_were_held_up_are_no_fall() {
        let mut rate_drops = RateDropDetector::default();
        assert!(!rate_drops.certain(at(0), true), "the first of them");
        assert!(!rate_drops.certain(at(1), false), "with the others");
        assert!(!rate_drops.certain(at(20), true));
        assert!(rate_drops.certain(at(24), true));
    }
}
