//! When frames are due, one after another, on tokio's clock.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Frames at a fixed distance; the first is due that long after it was asked for.
#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    due: Option<(Instant, Interval)>,
}

impl Pace {
    /// Frames are due every `interval`.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, due: None }
    }

    /// Waits until the next frame is due; gives how long after the first was asked for that is.
    pub async fn next(&mut self) -> Duration {
        let (began, due) = self.due.get_or_insert_with(|| {
            let began = Instant::now();
            let mut due = interval_at(began + self.interval, self.interval);
            due.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (began, due)
        });
        due.tick().await - *began
    }
}

/// A moment as frames have it, in microseconds.
#[must_use]
pub fn microseconds(moment: Duration) -> u64 {
    u64::try_from(moment.as_micros()).unwrap_or(u64::MAX)
}
