//! The measured state of a path. The glossary (`docs/glossary.md`, "The rates of one receiver") explains each of its
//! rates.

use std::time::Duration;

use crate::path::limits::INITIAL_WINDOW;
use nestcast_units::Bitrate;

/// An upper bound on the bytes of a packet that belong to no stream: its header and authentication tag, and two STREAM
/// frame headers, because it may contain the end of one stream and the beginning of another.
const OVERHEAD_BYTES: u64 = 45;

/// The measured state of the path to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStats {
    /// Bytes acknowledged since the connection began.
    pub delivered: u64,
    /// Bytes lost.
    pub lost: u64,
    /// The congestion window: bytes that may be in flight.
    pub window: u64,
    /// Bytes in flight. They exceed the window after it fell.
    pub in_flight: u64,
    /// An upper bound on the stream bytes that wait to be sent; zero if the transport does not report them.
    pub unsent: u64,
    /// The last round-trip time; zero before the first.
    pub rtt: Duration,
    /// The ack delay in it: how long the peer delayed the acknowledgement.
    pub ack_delay: Duration,
    /// The shortest recent round trip: the path without queues.
    pub min_rtt: Duration,
    /// How long the path's slowest link still transmits what was sent, at the rate that was measured; zero while no
    /// rate is known. Bytes in flight count from the moment that they are sent, and [`PathStats::queue`] a round trip
    /// later.
    pub backlog: Duration,
    /// The rate of that link, as deliveries showed it while a queue stood before it; zero before the first queue. While
    /// the path may have become faster, this rate grows.
    pub link_rate: Bitrate,
    /// The size of a packet in bytes.
    pub mtu: u64,
    /// Retransmitted bytes: lost in this round trip or the last. They are in flight again, and later bytes wait for
    /// them.
    pub retransmitted_bytes: u64,
    /// Rate drops so far: falls after which most bytes in flight are lost.
    pub rate_drops: u64,
    /// The lead time of the last drop: from the sending of the first packet that it lost until its detection.
    pub drop_lead_time: Duration,
    /// The policer rate: the most that may be sent if a policer drops what exceeds a rate.
    pub policer_rate: Option<Bitrate>,
    /// The probe rate: the part of the policer rate that is only a test, with bytes that nobody misses.
    pub probe_rate: Bitrate,
    /// During a round-trip probe, the target rate without it: the window is small on purpose then. Round trips that grow
    /// all the same lower it.
    pub rate_before_probe: Option<Bitrate>,
}

impl PathStats {
    /// Returns how long the last packet waited in queues and was transmitted.
    #[must_use]
    pub fn queue(&self) -> Duration {
        self.rtt.saturating_sub(self.min_rtt + self.ack_delay)
    }

    /// Returns how long a packet sent now would wait, if the bytes in flight take the same part of the last round trip.
    #[must_use]
    pub(crate) fn standing(&self) -> Duration {
        let flight = self.rtt.as_secs_f64() * self.in_flight as f64 / self.window.max(1) as f64;
        Duration::try_from_secs_f64(flight).unwrap_or(Duration::MAX).saturating_sub(self.min_rtt + self.ack_delay)
    }

    /// Returns the target rate that the controller allows: its window in each round trip, and at most the policer rate.
    /// Zero before the first round trip.
    #[must_use]
    pub fn target_rate(&self) -> Bitrate {
        let rate = Bitrate::of(self.window, self.rtt).unwrap_or_default();
        self.policer_rate.map_or(rate, |policer_rate| rate.min(policer_rate))
    }

    /// Returns a lower bound on the stream bytes of a whole packet.
    #[must_use]
    pub const fn payload(&self) -> u64 {
        payload(self.mtu)
    }

    /// Returns a lower bound on the stream bytes in `bytes` of packets.
    #[must_use]
    pub const fn stream_bytes(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(OVERHEAD_BYTES * bytes.div_ceil(if self.mtu == 0 { 1 } else { self.mtu }))
    }
}

/// Returns a lower bound on the stream bytes of a packet of `mtu` bytes; 45 if `mtu` is 90 or less.
pub(crate) const fn payload(mtu: u64) -> u64 {
    if mtu > 2 * OVERHEAD_BYTES { mtu - OVERHEAD_BYTES } else { OVERHEAD_BYTES }
}

/// Returns how long after a later frame's base layer a receiver waits for a lost packet of this frame, which comes
/// again after a round trip; `None` if that is too long (spec, "Frames").
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
            ack_delay: Duration::ZERO,
            min_rtt: Duration::ZERO,
            backlog: Duration::ZERO,
            link_rate: Bitrate::default(),
            mtu: 1200,
            retransmitted_bytes: 0,
            rate_drops: 0,
            drop_lead_time: Duration::ZERO,
            policer_rate: None,
            probe_rate: Bitrate::default(),
            rate_before_probe: None,
        }
    }
}
