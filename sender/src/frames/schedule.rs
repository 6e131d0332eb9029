//! When pictures, frames and packets of sound are due.

use std::time::Duration;

/// Says when something is due by the [running clock](super::running_clock), so that all schedules of a process stand
/// still together while the process does. Beyond that, each follows its own source: one that waits for a slow or stopped
/// source moves alone, because sound goes on where pictures stop, and pictures where sound does.
#[derive(Debug)]
pub(super) struct Schedule {
    /// When that which is due at zero is due.
    origin: Duration,
    /// How late something may be until the schedule moves to it at once. A shorter delay is made good.
    max_lag: Duration,
}

impl Schedule {
    pub(super) const fn new(origin: Duration, max_lag: Duration) -> Self {
        Self { origin, max_lag }
    }

    /// Returns when that which is due `after` the beginning is due, if it is there at `now`.
    pub(super) fn due(&mut self, after: Duration, now: Duration) -> Duration {
        let due = self.origin.saturating_add(after);
        let lag = now.saturating_sub(due);
        if lag <= self.max_lag {
            return due;
        }
        self.delay(lag);
        now
    }

    /// Moves all that is due later.
    pub(super) fn delay(&mut self, by: Duration) {
        self.origin = self.origin.saturating_add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_delay_is_made_good_and_a_long_one_moves_the_schedule() {
        let at = Duration::from_millis;
        let mut schedule = Schedule::new(at(1000), at(250));
        let mut due = |frame: u64, now: u64| schedule.due(at(frame), at(1000 + now)).as_millis() - 1000;
        assert_eq!([due(0, 0), due(40, 3), due(80, 300), due(120, 301)], [0, 40, 80, 120]);
        assert_eq!([due(160, 5000), due(200, 5001)], [5000, 5040], "the source stopped");
    }
}
