//! A token bucket: limits the mean rate, and the size of bursts.

use std::time::Duration;

use nestcast_units::Bitrate;

/// The bucket's depth, in frame intervals: after two skipped frames in a row the next may have the bytes of three.
const DEPTH_INTERVALS: u32 = 3;
/// The least depth: at any rate the bucket can hold more than a stream's head.
const MIN_DEPTH_BYTES: u64 = 256;
/// Base layers and bytes sent again are written even if the bucket is empty, and become debt. Later frames pay it, up
/// to the bytes of eight frame intervals: after a base layer of any size, at most eight frames get only their own base
/// layer.
const MAX_DEBT_INTERVALS: u32 = 8;

/// A token bucket of bytes. In any time it allows at most the rate and, once, its depth.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: Bitrate,
    interval: Duration,
    /// The first time that it learned.
    began: Option<Duration>,
    /// Bytes that entered since then, and bytes that were taken or overflowed.
    filled: u64,
    taken: u64,
    /// Bytes that entered since the previous time.
    came: u64,
}

impl TokenBucket {
    /// Makes a bucket that begins with the bytes of one frame interval.
    pub(crate) fn new(interval: Duration, rate: Bitrate) -> Self {
        Self { rate, interval, began: None, filled: 0, taken: 0, came: 0 }
    }

    /// Advances the time to `now`.
    pub(crate) fn handle_time(&mut self, now: Duration) {
        let began = *self.began.get_or_insert(now);
        let since = now.saturating_sub(began).saturating_add(self.interval);
        let before = self.filled;
        self.filled = before.max(self.rate.bytes_in(since));
        self.came = self.filled - before;
        let least = self.filled.saturating_sub(self.depth());
        let most = self.filled.saturating_add(self.intervals(MAX_DEBT_INTERVALS));
        self.taken = self.taken.clamp(least, most);
    }

    /// Takes `bytes`, whether the bucket has them or not.
    pub(crate) const fn take(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_add(bytes);
    }

    /// Returns the bytes in the bucket.
    pub(crate) const fn bytes(&self) -> u64 {
        self.filled.saturating_sub(self.taken)
    }

    /// Returns the bytes that it will have next, if `bytes` are taken until then. It expects as many new bytes as
    /// entered last, or those of a frame interval if that is more.
    pub(crate) fn next_bytes(&self, bytes: u64) -> u64 {
        let filled = self.filled.saturating_add(self.came.max(self.intervals(1)));
        filled.saturating_sub(self.taken.saturating_add(bytes)).min(self.depth())
    }

    /// Returns the most bytes that it holds.
    fn depth(&self) -> u64 {
        self.intervals(DEPTH_INTERVALS).max(MIN_DEPTH_BYTES)
    }

    /// Returns the bytes that enter in `count` frame intervals.
    pub(crate) fn intervals(&self, count: u32) -> u64 {
        self.rate.bytes_in(self.interval.saturating_mul(count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::limits::MAX_HEAD_BYTES;

    const INTERVAL: Duration = Duration::from_millis(40);
    /// 5000 bytes in an interval.
    const BITS_PER_SECOND: Bitrate = Bitrate::from_bits(1_000_000);

    proptest! {
        #[test]
        fn in_any_time_no_more_than_the_rate_and_the_depth_goes_through(
            frames in proptest::collection::vec((0..300_u64, 0..30_000_u64), 1..80),
            bits in 1000..10_000_000_u64,
        ) {
            let rate = Bitrate::from_bits(bits);
            let mut bucket = TokenBucket::new(INTERVAL, rate);
            let mut now = Duration::ZERO;
            let mut written = Vec::new();
            for (after, wanted) in frames {
                now += Duration::from_millis(after);
                bucket.handle_time(now);
                let bytes = wanted.min(bucket.bytes());
                bucket.take(bytes);
                written.push((now, bytes));
            }
            for (first, &(from, _)) in written.iter().enumerate() {
                let mut bytes = 0;
                for &(at, count) in &written[first..] {
                    bytes += count;
                    // Earlier arrivals are rounded down to whole bytes.
                    let most = rate.bytes_in(at - from) + rate.bytes_in(DEPTH_INTERVALS * INTERVAL).max(MIN_DEPTH_BYTES) + 2;
                    prop_assert!(bytes <= most, "{bytes} of {most} in {:?}", at - from);
                }
            }
        }

        #[test]
        fn what_was_taken_beyond_it_is_paid_later(bytes in 0..1_000_000_u64) {
            let mut bucket = TokenBucket::new(INTERVAL, BITS_PER_SECOND);
            bucket.handle_time(Duration::ZERO);
            bucket.take(bytes);
            let paid = (1..100).find(|&at| {
                bucket.handle_time(INTERVAL * at);
                bucket.bytes() > 0
            });
            let intervals = u32::try_from(bytes / 5000).expect("few");
            prop_assert_eq!(paid, Some(intervals.clamp(1, MAX_DEBT_INTERVALS + 2)));
        }
    }

    #[test]
    fn the_lowest_rate_saves_up_more_than_a_head() {
        let mut bucket = TokenBucket::new(INTERVAL, Bitrate::from_bits(1000));
        bucket.handle_time(Duration::ZERO);
        bucket.handle_time(Duration::from_secs(60));
        assert_eq!((bucket.bytes(), bucket.next_bytes(0)), (MIN_DEPTH_BYTES, MIN_DEPTH_BYTES));
        assert!(bucket.bytes() > MAX_HEAD_BYTES as u64);
    }

    #[test]
    fn a_clock_that_jumps_fills_it_to_its_depth_at_most_and_takes_nothing_from_it() {
        let mut bucket = TokenBucket::new(INTERVAL, BITS_PER_SECOND);
        bucket.handle_time(Duration::from_secs(5));
        bucket.handle_time(Duration::ZERO);
        assert_eq!(bucket.bytes(), 5000);
        bucket.handle_time(Duration::MAX);
        assert_eq!(bucket.bytes(), 15_000);
        bucket.handle_time(Duration::from_secs(5));
        assert_eq!(bucket.bytes(), 15_000);
    }
}
