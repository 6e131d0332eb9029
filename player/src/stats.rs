//! Counts what happened to frames.

use crate::latency::LatencyHistogram;

/// What was shown so far, and what was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlayStats {
    /// Frames that were shown; each counts once, however often more of it came.
    pub shown: u64,
    /// Frames that came but were not decoded, because a newer one had come.
    pub undecoded: u64,
    /// Pictures shown for missing frames, moved from the last picture. They count nowhere else.
    pub concealed: u64,
    /// Times that the last picture was repeated for an interval because nothing came and nothing was concealed.
    pub repeated: u64,
    /// Frames whose bytes are no picture.
    pub corrupt: u64,
    /// The time from capture to display, as the caller measured it.
    pub latency: LatencyHistogram,
}
