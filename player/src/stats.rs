//! Counts what happened to frames.

use std::time::Duration;

use crate::latency::LatencyHistogram;
use crate::sound::SoundStats;
use crate::unevenness::Unevenness;

/// Counts of what was shown so far, and of what was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlayStats {
    /// Frames that were shown; each counts once, however often more of it arrived.
    pub shown: u64,
    /// Frames that arrived but were not decoded, because a newer one had arrived.
    pub undecoded: u64,
    /// Pictures that were shown for missing frames, moved from the last picture. They count nowhere else.
    pub concealed: u64,
    /// Times that the last picture was repeated for an interval, because no frame arrived and none was concealed.
    pub repeated: u64,
    /// Frames that were shown, but ready only after the moment at which they were to be presented.
    pub late: u64,
    /// How long frames that were shown waited for that moment after they were ready, in total.
    pub waited: Duration,
    /// Frames whose bytes are no picture.
    pub corrupt: u64,
    /// The time from capture to display, as the caller measured it.
    pub latency: LatencyHistogram,
    /// How uneven frames were shown, computed from these times.
    pub unevenness: Unevenness,
    /// The sound with the frames.
    pub sound: SoundStats,
}

impl PlayStats {
    /// Returns how long a frame waited on average after it was ready: the delay that the playout clock adds.
    #[must_use]
    pub fn mean_wait(&self) -> Duration {
        let shown = self.shown.max(1);
        Duration::from_secs_f64(self.waited.as_secs_f64() / shown as f64)
    }
}
