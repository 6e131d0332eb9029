//! Counts frames in classes by how uneven they were shown.

use std::time::Duration;

/// The largest unevenness of each class in microseconds; a last class takes all others.
const BOUNDS_US: [u64; 18] = [
    250, 500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 12_000, 16_000, 20_000, 30_000, 40_000, 60_000,
    100_000,
];

/// Numbers of frames by their unevenness: the difference between the interval in which a frame and the one before were
/// shown, and the interval in which they were captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unevenness([u64; BOUNDS_US.len() + 1]);

impl Unevenness {
    /// Counts a frame.
    pub(crate) fn note(&mut self, unevenness: Duration) {
        let class = BOUNDS_US.iter().position(|&bound| unevenness <= Duration::from_micros(bound));
        self.0[class.unwrap_or(BOUNDS_US.len())] += 1;
    }

    /// Returns the bound of the class that contains the value which `percent` percent of the frames do not exceed;
    /// `None` without frames, and [`Duration::MAX`] above the last bound.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let frames: u64 = self.0.iter().sum();
        let rank = (u128::from(frames) * u128::from(percent)).div_ceil(100).max(1);
        let counts = self.0.iter().scan(0_u128, |sum, &frames| {
            *sum += u128::from(frames);
            Some(*sum)
        });
        let class = counts.into_iter().position(|count| count >= rank)?;
        Some(BOUNDS_US.get(class).map_or(Duration::MAX, |&bound| Duration::from_micros(bound)))
    }

    /// Returns the classes by rising unevenness: the most microseconds (`None` for the last class), and the frames in
    /// this class alone.
    pub fn classes(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        BOUNDS_US.into_iter().map(Some).chain([None]).zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_bound_of_its_class() {
        let mut unevenness = Unevenness::default();
        assert_eq!(unevenness.percentile(95), None);
        (0..95).for_each(|_| unevenness.note(Duration::from_micros(900)));
        (0..5).for_each(|_| unevenness.note(Duration::from_millis(11)));
        assert_eq!(unevenness.percentile(95), Some(Duration::from_millis(1)));
        assert_eq!(unevenness.percentile(96), Some(Duration::from_millis(12)));
        unevenness.note(Duration::from_secs(1));
        assert_eq!(unevenness.percentile(100), Some(Duration::MAX));
        assert_eq!(unevenness.classes().map(|(_, frames)| frames).sum::<u64>(), 101);
    }
}
