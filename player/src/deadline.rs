//! When a frame that does not come is missed: one and a half frame intervals after the last one came, then once an interval.

use std::time::Duration;

/// When to show something although nothing came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deadline {
    interval: Duration,
    at: Duration,
}

impl Deadline {
    /// For frames that come once an interval.
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, at: Duration::ZERO }
    }

    /// A frame came, or more of one. The next may be half an interval late before it is missed.
    pub(crate) fn handle_arrival(&mut self, now: Duration) {
        self.at = now.saturating_add(self.interval * 3 / 2);
    }

    /// A frame was missed. What stands for missing frames is shown as often as frames are.
    pub(crate) const fn handle_missed(&mut self, now: Duration) {
        self.at = now.saturating_add(self.interval);
    }

    /// The moment from which a frame is missed.
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
