//! The bandwidth estimate of a receiver's path, which encoders use.
//!
//! It depends on the delay controller's target rate (`path/stats.rs`), and on how long nothing was delivered.
//! `docs/glossary.md` has a table of all rates.

use std::time::Duration;

use crate::path::stats::PathStats;
use nestcast_units::Bitrate;

/// While nothing is acknowledged, the bandwidth estimate is at least the last rate divided by this. Base layers of
/// video need 0.4 of that, so ten frames' base layers fit into what the path carried in one frame interval. An outage
/// is soon caught up with if the rate returns to what it was, and a tenth of that rate still carries the base layers.
const STALL_DIVISOR: u64 = 4;

/// How long a path has delivered nothing.
#[derive(Debug)]
pub(super) struct CarriedRate {
    interval: Duration,
    /// Bytes delivered when the last frame was due.
    delivered: u64,
    /// Consecutive frames that were due while no byte was delivered.
    silent_frames: u32,
}

impl CarriedRate {
    /// Makes an estimate for frames that are due every `interval`.
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, delivered: 0, silent_frames: 0 }
    }

    /// Records a frame that is due; `delivered` bytes arrived since the connection began.
    pub(super) const fn handle_frame(&mut self, delivered: u64) {
        self.silent_frames = if delivered == self.delivered { self.silent_frames + 1 } else { 0 };
        self.delivered = delivered;
    }

    /// Returns the number of consecutive frames that were due while no byte was delivered.
    pub(super) const fn silent_frames(&self) -> u32 {
        self.silent_frames
    }

    /// Returns how long no byte was delivered, in whole frame intervals.
    pub(super) fn silence(&self) -> Duration {
        self.interval * self.silent_frames
    }

    /// See [`Publisher::bandwidth_estimate`](crate::Publisher::bandwidth_estimate).
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
