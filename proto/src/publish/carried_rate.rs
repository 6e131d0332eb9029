//! What a path is thought to carry now: the estimate of a receiver's bandwidth that an encoder goes by.
//!
//! What decides it: the target rate of the delay controller (`path/stats.rs`), and how long nothing was delivered. `docs/glossary.md`
//! has a table of all rates.

use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::path::stats::PathStats;

/// While nothing is acknowledged a path is thought to carry at least its rate before then, divided by this. Bases of video take
/// 0.4 of that: ten frames' bases are what the path carried in one frame interval. So an outage is soon caught up with if the
/// rate comes again as it was, and a tenth of it still carries them.
const STALL_DIVISOR: u64 = 4;

/// For how long a path delivered nothing.
#[derive(Debug)]
pub(super) struct CarriedRate {
    interval: Duration,
    /// Bytes that had been delivered when the last frame was due.
    delivered: u64,
    /// Frames in a row that were due while no byte was delivered.
    silent_frames: u32,
}

impl CarriedRate {
    /// For frames that are due every `interval`.
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, delivered: 0, silent_frames: 0 }
    }

    /// A frame is due; `delivered` bytes arrived since the connection began.
    pub(super) const fn handle_frame(&mut self, delivered: u64) {
        self.silent_frames = if delivered == self.delivered { self.silent_frames + 1 } else { 0 };
        self.delivered = delivered;
    }

    /// Frames in a row that were due while no byte was delivered.
    pub(super) const fn silent_frames(&self) -> u32 {
        self.silent_frames
    }

    /// For how long no byte was delivered, in whole frame intervals.
    pub(super) fn silence(&self) -> Duration {
        self.interval * self.silent_frames
    }

    /// See [`Publisher::carried_rate`](crate::Publisher::carried_rate).
    pub(super) fn rate(&self, path: &PathStats) -> Bitrate {
        let target = path.target_rate();
        if path.in_flight < path.mtu {
            return target;
        }
        let Some(one_packet) = Bitrate::of(path.mtu, self.silence()) else { return target };
        let least = Bitrate::from_bits(target.bits() / STALL_DIVISOR);
        one_packet.max(least).min(target)
    }
}
