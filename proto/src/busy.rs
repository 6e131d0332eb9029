//! What a path carries while a queue stands before it: then, and only then, what arrives shows its rate.

use std::time::Duration;

/// How long the path must have been busy for its rate to be known: acknowledgements are late by milliseconds.
const KNOWN: Duration = Duration::from_millis(20);

/// Deliveries between acknowledgements of packets that waited in a queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy {
    /// When the last acknowledgements came, and what was delivered by then, if their packets had waited.
    last: Option<(Duration, u64)>,
    /// How long the path was busy since the rate was taken, and what it delivered then.
    time: Duration,
    bytes: u64,
}

impl Busy {
    /// Acknowledgements came together; the newest packet, of at most `mtu` bytes, met a queue of `queue`, which is none if
    /// it is less than `least`.
    pub(crate) fn handle_batch(&mut self, now: Duration, delivered: u64, mtu: u64, queue: Duration, least: Duration) {
        let waited = queue >= least;
        if let Some((then, before)) = self.last.filter(|_| waited) {
            let (gap, bytes) = (now.saturating_sub(then), delivered - before);
            let packets = u32::try_from(bytes / mtu.max(1)).unwrap_or(u32::MAX).max(1);
            // All of these packets were there before those of the last batch had left.
            if queue >= (gap - gap / packets).max(gap / 2) {
                self.time += gap;
                self.bytes += bytes;
            }
        }
        self.last = waited.then_some((now, delivered));
    }

    /// Bytes a second, if the path was busy for long enough; begins anew then.
    pub(crate) fn take(&mut self) -> Option<f64> {
        (self.time >= KNOWN).then(|| {
            let rate = self.bytes as f64 / self.time.as_secs_f64();
            (self.time, self.bytes) = (Duration::ZERO, 0);
            rate
        })
    }
}
