//! The measurements of one round trip, which ends when a packet is acknowledged that was sent after it began.

use std::time::Duration;

/// One round trip, batch by batch of acknowledgements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) began: Duration,
    /// Sums over the batches' newest packets: round-trip times, queues, and bytes in flight.
    time: Duration,
    queue: Duration,
    flight: u64,
    batches: u32,
    /// The shortest queue that these met.
    pub(crate) standing: Duration,
    /// The most bytes in flight when they were sent, a round trip ago.
    pub(crate) largest: u64,
    /// The most bytes in flight now.
    pub(crate) busiest: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Whether the path marked a packet.
    pub(crate) marked: bool,
}

impl Round {
    pub(crate) fn new(now: Duration, in_flight: u64) -> Self {
        Self { began: now, busiest: in_flight, standing: Duration::MAX, ..Self::default() }
    }

    /// Processes acknowledgements that came together. Their newest packet took `rtt` and met a queue of `queue`;
    /// `flight` is the bytes in flight when it was sent, with its own.
    pub(crate) fn handle_batch(&mut self, rtt: Duration, queue: Duration, flight: u64) {
        self.time += rtt;
        self.queue += queue;
        self.flight += flight;
        self.batches += 1;
        self.largest = self.largest.max(flight);
    }

    /// Records the queue that a batch's newest packet met, whichever flow made it.
    pub(crate) fn handle_standing(&mut self, queue: Duration) {
        self.standing = self.standing.min(queue);
    }

    pub(crate) fn mean_rtt(&self) -> Duration {
        self.time / self.batches.max(1)
    }

    pub(crate) fn mean_queue(&self) -> Duration {
        self.queue / self.batches.max(1)
    }

    /// Returns the mean bytes in flight.
    pub(crate) fn mean_flight(&self) -> f64 {
        self.flight as f64 / f64::from(self.batches.max(1))
    }

    /// Returns the mean of the bytes acknowledged together.
    pub(crate) fn lump(&self) -> f64 {
        self.delivered as f64 / f64::from(self.batches.max(1))
    }

    /// Returns the rate in bytes a second by Little's law: at most what the path carries, and less if it was not always
    /// busy.
    pub(crate) fn flown(&self) -> f64 {
        self.mean_flight() / seconds(self.mean_rtt())
    }
}

/// Returns seconds, at least a tenth of a millisecond, as a divisor.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.max(Duration::from_micros(100)).as_secs_f64()
}

/// Rounds bytes down.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few windows at most, and positive")]
pub(crate) fn whole(bytes: f64) -> u64 {
    bytes as u64
}
