//! When frames are due, one after another, on tokio's clock.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Frames at a fixed interval; the first is due one interval after it was asked for.
#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    due: Option<(Instant, Interval)>,
}

impl Pace {
    /// Takes the interval between frames.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, due: None }
    }

    /// Waits until the next frame is due; returns how long that is after the first was asked for.
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

/// Returns a moment in microseconds, the unit of frames.
#[must_use]
pub fn microseconds(moment: Duration) -> u64 {
    u64::try_from(moment.as_micros()).unwrap_or(u64::MAX)
}
