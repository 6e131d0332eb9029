//! The deadline of a missing frame: one frame interval after the last frame was presented and some grace, then once an
//! interval.

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

    /// Notes that a frame, or more of one, is presented at `at`. The next one is missing after an interval and `grace`.
    pub(crate) const fn handle_presented(&mut self, at: Duration, grace: Duration) {
        self.at = at.saturating_add(self.interval).saturating_add(grace);
    }

    /// Notes a missing frame. Substitutes are shown as often as frames; those that a busy caller slept through are not
    /// made up for.
    pub(crate) fn handle_missed(&mut self, now: Duration) {
        self.at = self.at.saturating_add(self.interval);
        if self.at <= now {
            self.at = now.saturating_add(self.interval);
        }
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
    fn a_frame_is_missed_after_an_interval_and_grace_and_then_once_an_interval() {
        let ms = Duration::from_millis;
        let mut deadline = Deadline::new(ms(40));
        deadline.handle_presented(ms(100), ms(20));
        assert_eq!(deadline.at(), ms(160));
        deadline.handle_missed(ms(163));
        assert_eq!(deadline.at(), ms(200), "a late look does not move the next");
        deadline.handle_missed(ms(1000));
        assert_eq!(deadline.at(), ms(1040));
        deadline.handle_presented(Duration::MAX, ms(20));
        assert_eq!(deadline.at(), Duration::MAX);
    }
}
