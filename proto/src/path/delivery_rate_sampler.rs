//! The delivery-rate sampler: measures a path's rate while its queue is not empty, the only time when arrivals show it.

use std::time::Duration;

/// How long the path must be busy, and with how many packets, before its rate is known: acknowledgements are late by
/// milliseconds.
const MIN_BUSY_TIME: Duration = Duration::from_millis(20);
const KNOWN_PACKETS: u64 = 6;
/// A path that delivers nothing for this long was out, which says nothing about its rate: a packet takes less at 48
/// kbit/s.
const OUTAGE_TIME: Duration = Duration::from_millis(200);

/// The deliveries between acknowledgements of packets that waited in a queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryRateSampler {
    /// When the last acknowledgements came, and the bytes delivered by then, if their packets had waited.
    last: Option<(Duration, u64)>,
    /// How long the path was busy since the last sample, and the bytes that it delivered in that time.
    time: Duration,
    bytes: u64,
}

impl DeliveryRateSampler {
    /// Processes acknowledgements that came together. Their newest packet, of at most `mtu` bytes, met a queue of
    /// `queue`; less than `least` counts as none.
    pub(crate) fn handle_batch(&mut self, now: Duration, delivered: u64, mtu: u64, queue: Duration, least: Duration) {
        let waited = queue >= least;
        if let Some((then, before)) = self.last.filter(|_| waited) {
            let gap = now.saturating_sub(then);
            let bytes = delivered - before;
            let packets = u32::try_from(bytes / mtu.max(1)).unwrap_or(u32::MAX).max(1);
            // All of these packets were queued before those of the last batch had left.
            if queue >= (gap - gap / packets).max(gap / 2) && gap < OUTAGE_TIME {
                self.time += gap;
                self.bytes += bytes;
            }
        }
        self.last = waited.then_some((now, delivered));
    }

    /// Takes a sample in bytes a second, if the path was busy for long enough; packets have at most `mtu` bytes.
    pub(crate) fn take(&mut self, mtu: u64) -> Option<f64> {
        (self.time >= MIN_BUSY_TIME && self.bytes >= KNOWN_PACKETS * mtu).then(|| {
            let rate = self.bytes as f64 / self.time.as_secs_f64();
            self.time = Duration::ZERO;
            self.bytes = 0;
            rate
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_INTERVAL: Duration = Duration::from_millis(4);

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Returns the sample after ten batches of `bytes`, one every `every` milliseconds, that met a queue.
    fn rate(every: u64, bytes: u64, queue: u64) -> Option<f64> {
        let mut busy = DeliveryRateSampler::default();
        (1..=10).for_each(|count| busy.handle_batch(at(count * every), count * bytes, 1200, at(queue), MIN_INTERVAL));
        busy.take(1200)
    }

    #[test]
    fn the_rate_is_that_of_deliveries_behind_a_queue() {
        assert_eq!(rate(10, 1200, 12), Some(120_000.0));
        assert_eq!(rate(10, 4800, 12), Some(480_000.0));
        assert_eq!(rate(10, 1200, 3), None, "no queue");
        assert_eq!(rate(10, 4800, 6), None, "the first of four packets may have come to an idle path");
        assert_eq!(rate(1, 1200, 6), None, "too short to know");
        assert_eq!(rate(300, 1200, 300), None, "an outage");
    }
}
