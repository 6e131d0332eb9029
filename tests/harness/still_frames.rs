//! A source without an encoder: one frame's bytes, again and again.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Frame, PackageHash, Welcome};
use nestcast_sender::{Feedback, FrameSource, SourceError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Frames a second.
pub const RATE: u32 = 30;

/// The same bytes 30 times a second. Ids count from 0, and frames say how long after the first was asked for they were due.
#[derive(Debug)]
pub struct StillFrames {
    bytes: Bytes,
    base: usize,
    time: Duration,
    id: u64,
    due: Option<(Instant, Interval)>,
}

impl StillFrames {
    /// Of `bytes` bytes, of which the first `base` are the base, for `time`.
    #[must_use]
    pub fn new(bytes: usize, base: usize, time: Duration) -> Self {
        Self { bytes: vec![7; bytes].into(), base, time, id: 0, due: None }
    }
}

impl FrameSource for StillFrames {
    fn welcome(&self) -> Welcome {
        Welcome { model: [1; 6], package: PackageHash([1; 32]), width: 1, height: 1, rate: (RATE, 1), video: None }
    }

    async fn next(&mut self, _feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        let interval = self.welcome().interval();
        let (began, due) = self.due.get_or_insert_with(|| {
            let began = Instant::now();
            let mut due = interval_at(began + interval, interval);
            due.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (began, due)
        });
        let captured = due.tick().await - *began;
        if captured >= self.time {
            return Ok(None);
        }
        let (id, captured) = (self.id, u64::try_from(captured.as_micros()).unwrap_or(u64::MAX));
        self.id += 1;
        Ok(Some(Frame { id, skipped: 0, captured, base: self.base, bytes: self.bytes.clone(), join: None }))
    }
}
