//! The deadline of a missing frame: one and a half frame intervals after the last frame arrived, then once an interval.

use std::time::Duration;

/// When to show something even if no frame arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deadline {
    interval: Duration,
    at: Duration,
}

impl Deadline {
    /// Makes a deadline for frames that arrive once an interval.
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, at: Duration::ZERO }
    }

    /// Notes that a frame, or more of one, arrived. The next one is missing if it is half an interval late.
    pub(crate) fn handle_arrival(&mut self, now: Duration) {
        self.at = now.saturating_add(self.interval * 3 / 2);
    }

    /// Notes a missing frame. Substitutes are shown as often as frames.
    pub(crate) const fn handle_missed(&mut self, now: Duration) {
        self.at = now.saturating_add(self.interval);
    }

    /// Returns the time from which a frame is missing.
    pub(crate) const fn at(&self) -> Duration {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_missed_after_one_and_a_half_intervals_and_then_once_an_interval() {
        let ms = Duration::from_millis;
        let mut deadline = Deadline::new(ms(40));
        deadline.handle_arrival(ms(100));
        assert_eq!(deadline.at(), ms(160));
        deadline.handle_missed(ms(160));
        assert_eq!(deadline.at(), ms(200));
        deadline.handle_missed(ms(1000));
        assert_eq!(deadline.at(), ms(1040), "intervals that a busy caller slept through are not made up for");
        deadline.handle_arrival(Duration::MAX);
        assert_eq!(deadline.at(), Duration::MAX);
    }
}
