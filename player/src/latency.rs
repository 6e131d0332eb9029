//! Counts frames in classes by the time from capture to display.

use std::time::Duration;

/// The largest latency of each class in milliseconds; a last class takes all others.
const BOUNDS_MS: [u64; 11] = [20, 40, 60, 80, 100, 120, 160, 240, 400, 1000, 4000];

/// Numbers of frames by the time from capture to display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyHistogram([u64; BOUNDS_MS.len() + 1]);

impl LatencyHistogram {
    /// Counts a frame that was shown `latency` after its capture.
    pub(crate) fn note(&mut self, latency: Duration) {
        let class = BOUNDS_MS.iter().position(|&bound| latency <= Duration::from_millis(bound));
        self.0[class.unwrap_or(BOUNDS_MS.len())] += 1;
    }

    /// Returns the classes by rising latency: the most milliseconds (`None` for the last class), and the frames in this
    /// class alone.
    pub fn classes(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        BOUNDS_MS.into_iter().map(Some).chain([None]).zip(self.0)
    }
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
}
