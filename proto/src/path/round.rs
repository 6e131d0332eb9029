//! What one round trip showed: it ends when a packet is acknowledged that was sent after it began.

use std::time::Duration;

/// One round trip, batch by batch of acknowledgements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) began: Duration,
    /// The sum of the round trips, of the queues and of the bytes in flight of the batches' newest packets.
    time: Duration,
    queue: Duration,
    flight: u64,
    batches: u32,
    /// The shortest queue that those met.
    pub(crate) standing: Duration,
    /// The largest of the bytes in flight when they were sent, a round trip ago.
    pub(crate) largest: u64,
    /// Most bytes in flight now.
    pub(crate) busiest: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// The path marked a packet.
    pub(crate) marked: bool,
}

impl Round {
    pub(crate) fn new(now: Duration, in_flight: u64) -> Self {
        Self { began: now, busiest: in_flight, standing: Duration::MAX, ..Self::default() }
    }

    /// Acknowledgements came together; the newest packet took `rtt`, met a queue of `queue`, and made `flight` bytes with those
    /// before it.
    pub(crate) fn handle_batch(&mut self, rtt: Duration, queue: Duration, flight: u64) {
        self.time += rtt;
        self.queue += queue;
        self.flight += flight;
        self.batches += 1;
        self.largest = self.largest.max(flight);
    }

    /// A batch's newest packet met so long a queue, whoever made it.
    pub(crate) fn handle_standing(&mut self, queue: Duration) {
        self.standing = self.standing.min(queue);
    }

    pub(crate) fn mean_rtt(&self) -> Duration {
        self.time / self.batches.max(1)
    }

    pub(crate) fn mean_queue(&self) -> Duration {
        self.queue / self.batches.max(1)
    }

    /// In bytes.
    pub(crate) fn mean_flight(&self) -> f64 {
        self.flight as f64 / f64::from(self.batches.max(1))
    }

    /// Bytes that were acknowledged together, on average.
    pub(crate) fn lump(&self) -> f64 {
        self.delivered as f64 / f64::from(self.batches.max(1))
    }

    /// Bytes a second by Little's law: no more than the path carries, and less if it was not always busy.
    pub(crate) fn flown(&self) -> f64 {
        self.mean_flight() / seconds(self.mean_rtt())
    }
}

/// At least a tenth of a millisecond, to divide by.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.max(Duration::from_micros(100)).as_secs_f64()
}

/// Bytes without their fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few windows at most, and positive")]
pub(crate) fn whole(bytes: f64) -> u64 {
    bytes as u64
}
