//! Counts what happened to frames.

use crate::latency::LatencyHistogram;

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
    /// Frames whose bytes are no picture.
    pub corrupt: u64,
    /// The time from capture to display, as the caller measured it.
    pub latency: LatencyHistogram,
}
