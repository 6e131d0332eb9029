//! How long frames took from capture to shown, counted in classes.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds up to which a frame counts in each class but the last, which takes all others.
const BOUNDS_MS: [u64; 11] = [20, 40, 60, 80, 100, 120, 160, 240, 400, 1000, 4000];

/// Frames by the time from capture to shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyHistogram([u64; BOUNDS_MS.len() + 1]);

impl LatencyHistogram {
    /// Another frame was shown so long after its capture.
    pub(crate) fn note(&mut self, latency: Duration) {
        let class = BOUNDS_MS.iter().position(|&bound| latency <= Duration::from_millis(bound));
        self.0[class.unwrap_or(BOUNDS_MS.len())] += 1;
    }

    /// The classes by rising latency: the most milliseconds, none of the last, and the frames in it alone.
    pub fn classes(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        BOUNDS_MS.into_iter().map(Some).chain([None]).zip(self.0)
    }
}

/// How long ago a moment was, in microseconds since 1970 by a clock that is `ahead` of ours by so many.
pub(crate) fn since(captured: u64, ahead: i64) -> Duration {
    let ago = micros(wall_clock()).saturating_add(ahead).saturating_sub_unsigned(captured);
    Duration::from_micros(u64::try_from(ago).unwrap_or_default())
}

/// By how many microseconds a clock that says `now`, since 1970, is ahead of ours.
pub(crate) fn ahead(now: Duration) -> i64 {
    micros(now).saturating_sub(micros(wall_clock()))
}

/// Our clock, since 1970. It goes on evenly though the machine's is set meanwhile.
fn wall_clock() -> Duration {
    static BEGAN: LazyLock<(Instant, Duration)> =
        LazyLock::new(|| (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
    BEGAN.1 + BEGAN.0.elapsed()
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_counts_in_one_class() {
        let mut histogram = LatencyHistogram::default();
        [0, 20, 21, 4000, 4001, 1_000_000].into_iter().for_each(|ms| histogram.note(Duration::from_millis(ms)));
        let filled: Vec<_> = histogram.classes().filter(|(_, frames)| *frames > 0).collect();
        assert_eq!(filled, [(Some(20), 2), (Some(40), 1), (Some(4000), 1), (None, 2)]);
    }

    #[test]
    fn latency_goes_by_the_senders_clock() {
        let hour = 3_600_000_000;
        let now = u64::try_from(wall_clock().as_micros()).expect("a date of ours");
        let ahead = since(now + hour - 80_000, hour.cast_signed());
        let behind = since(now - hour - 80_000, -hour.cast_signed());
        assert!(ahead >= Duration::from_millis(80) && behind >= Duration::from_millis(80), "{ahead:?} {behind:?}");
        assert!(ahead < Duration::from_secs(1800) && behind < Duration::from_secs(1800), "{ahead:?} {behind:?}");
        assert_eq!(since(u64::MAX, i64::MAX), Duration::ZERO);
        assert_eq!(since(now + hour, 0), Duration::ZERO, "a frame of the future");
    }
}
