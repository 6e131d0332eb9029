//! What is known of the path to a receiver. The glossary (`docs/glossary.md`, "The rates of one receiver") says what each of its rates is.

use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::path::limits::INITIAL_WINDOW;

/// Bytes of a packet that are no stream's, or more: its header and seal, and the heads of two STREAM frames, where it carries the
/// end of one stream and the beginning of another.
const OVERHEAD_BYTES: u64 = 45;

/// What is known of the path to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStats {
    /// Bytes that were acknowledged since the connection began.
    pub delivered: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// Bytes that may be in flight.
    pub window: u64,
    /// Bytes that are in flight. They are more than may be after the window fell.
    pub in_flight: u64,
    /// Bytes of streams that wait to be sent, or more; zero where the transport does not tell.
    pub unsent: u64,
    /// The last round trip; zero if there was none yet.
    pub rtt: Duration,
    /// For how much of it the peer held the acknowledgement back.
    pub held: Duration,
    /// The shortest for long: the path without queues.
    pub min_rtt: Duration,
    /// Bytes of a packet.
    pub mtu: u64,
    /// Bytes that were lost in this round trip and the last: they are on the way again, and what came behind them waits for
    /// them.
    pub repairing: u64,
    /// How often its rate fell so far that most of what was on the way is lost.
    pub falls: u64,
    /// How long before the last fall was detected the first packet was sent that it lost.
    pub fell: Duration,
    /// The policed rate: the most that may be sent, where a policer drops what exceeds a rate.
    pub policed: Option<Bitrate>,
    /// The tried rate: what of that is only tried, with bytes that nobody misses.
    pub tried: Bitrate,
}

impl PathStats {
    /// How long the last packet waited in queues, and was being sent.
    #[must_use]
    pub fn queue(&self) -> Duration {
        self.rtt.saturating_sub(self.min_rtt + self.held)
    }

    /// How long a packet would wait that is sent now, if what is in flight takes its share of the last round trip.
    #[must_use]
    pub(crate) fn standing(&self) -> Duration {
        let flight = self.rtt.as_secs_f64() * self.in_flight as f64 / self.window.max(1) as f64;
        Duration::try_from_secs_f64(flight).unwrap_or(Duration::MAX).saturating_sub(self.min_rtt + self.held)
    }

    /// The target rate, which the controller lets through: its window in each round trip, and no more than a policer. Zero before the first.
    #[must_use]
    pub fn target_rate(&self) -> Bitrate {
        let rate = Bitrate::of(self.window, self.rtt).unwrap_or_default();
        self.policed.map_or(rate, |policed| rate.min(policed))
    }

    /// Bytes of streams that a whole packet carries, or fewer.
    #[must_use]
    pub const fn payload(&self) -> u64 {
        payload(self.mtu)
    }

    /// Of so many bytes of packets those that are streams', or fewer.
    #[must_use]
    pub const fn stream_bytes(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(OVERHEAD_BYTES * bytes.div_ceil(if self.mtu == 0 { 1 } else { self.mtu }))
    }
}

/// Bytes of streams that a packet of `mtu` bytes carries, or fewer; 45 where `mtu` is 90 or less.
pub(crate) const fn payload(mtu: u64) -> u64 {
    if mtu > 2 * OVERHEAD_BYTES { mtu - OVERHEAD_BYTES } else { OVERHEAD_BYTES }
}

/// How long after a later frame's base a receiver waits for a packet of this one that was lost, and comes again after a round trip;
/// `None` if that is too long to be waited for (spec, "Frames").
pub(crate) fn repaired_in_time(rtt: Duration, interval: Duration) -> Option<Duration> {
    let again = rtt * 5 / 4 + interval / 8;
    (again <= interval * 9 / 4).then_some(again)
}

impl Default for PathStats {
    fn default() -> Self {
        Self {
            delivered: 0,
            lost: 0,
            window: INITIAL_WINDOW,
            in_flight: 0,
            unsent: 0,
            rtt: Duration::ZERO,
            held: Duration::ZERO,
            min_rtt: Duration::ZERO,
            mtu: 1200,
            repairing: 0,
            falls: 0,
            fell: Duration::ZERO,
            policed: None,
            tried: Bitrate::default(),
        }
    }
}
