//! The bandwidth estimate of a receiver's path, which encoders use.
//!
//! It depends on the delay controller's target rate (`path/stats.rs`), and on how long nothing was delivered.
//! `docs/glossary.md` has a table of all rates.

use std::time::Duration;

use crate::path::stats::PathStats;
use nestcast_units::Bitrate;

/// While nothing is acknowledged, the bandwidth estimate is at least the last rate divided by this. An outage is soon
/// caught up with if the rate returns to what it was. Base layers of video have four tenths of a fallen rate at first, so
/// a tenth of the last rate carries those of the first frames.
const STALL_DIVISOR: u64 = 4;

/// For how long a path has delivered nothing, though packets are on the way.
#[derive(Debug)]
pub(super) struct CarriedRate {
    interval: Duration,
    /// Bytes delivered when the last frame was due.
    delivered: u64,
    /// When the last frame was due at which bytes had been delivered since the one before; a round trip later than that
    /// if nothing was on the way.
    since: Duration,
    silence: Duration,
}

impl CarriedRate {
    /// Makes an estimate for frames that are due every `interval`.
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, delivered: 0, since: Duration::ZERO, silence: Duration::ZERO }
    }

    /// Records a frame that is due at `now`, by the path's state then.
    pub(super) fn handle_frame(&mut self, now: Duration, path: &PathStats) {
        if path.in_flight < path.mtu {
            // Nothing of what is sent now can arrive before.
            self.since = now + path.rtt;
        } else if path.delivered != self.delivered {
            self.since = now;
        }
        self.delivered = path.delivered;
        self.silence = now.saturating_sub(self.since);
    }

    /// Returns whether no byte was delivered for two frame intervals. Frames may be due a little early.
    pub(super) fn is_silent(&self) -> bool {
        self.silence >= self.interval * 15 / 8
    }

    /// Returns for how long no byte was delivered when the last frame was due.
    pub(super) const fn silence(&self) -> Duration {
        self.silence
    }

    /// See [`Publisher::bandwidth_estimate`](crate::Publisher::bandwidth_estimate).
    pub(super) fn rate(&self, path: &PathStats) -> Bitrate {
        let target = path.rate_before_probe.unwrap_or_else(|| path.target_rate());
        if path.in_flight < path.mtu {
            return target;
        }
        let Some(one_packet) = Bitrate::of(path.mtu, self.silence) else { return target };
        let least = Bitrate::from_bits(target.bits() / STALL_DIVISOR);
        one_packet.max(least).min(target)
    }
}
