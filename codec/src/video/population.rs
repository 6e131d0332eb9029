//! The receivers that one encode is meant for.

use std::ops::RangeInclusive;

use crate::picture::Size;

/// Frames a second, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames in [`FrameRate::seconds`].
    pub frames: u32,
    /// Seconds.
    pub seconds: u32,
}

impl FrameRate {
    /// Returns the bytes of a frame at this many bits a second.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are finite and positive")]
    pub fn bytes(self, bits_per_second: f64) -> usize {
        (bits_per_second / 8.0 * f64::from(self.seconds.max(1)) / f64::from(self.frames.max(1))).max(0.0) as usize
    }
}

/// Bandwidths of receivers with their weights: Equation 16 of Rippel, Gelbart and Adams (2014) is the mean over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// Bits a second and weight, by rising rate.
    receivers: Vec<(f64, f64)>,
}

/// Rates of a log-uniform population.
const POPULATION_RATES: u32 = 5;
/// Bits a second of the usual population's slowest receiver, for a video of [`USUAL_SAMPLES`]: 27 to 36 dB, by clip.
const USUAL_LEAST: f64 = 80e3;
/// Luma samples a second of 320x180 pixels, 30 times a second.
const USUAL_SAMPLES: f64 = 320.0 * 180.0 * 30.0;
/// Rate grows with this power of the samples a second: larger pictures are smoother, faster ones change less.
const RATE_GROWTH_EXPONENT: f64 = 0.75;
/// The ratio of the fastest receiver's rate to the slowest one's: 40 to 48 dB.
const FASTEST_TO_SLOWEST: u64 = 16;

impl Population {
    /// Makes receivers of these rates in bits a second, each with its weight. It skips values that are not positive and
    /// finite.
    #[must_use]
    pub fn new(receivers: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let real = |value: f64| value.is_finite() && value > 0.0;
        let mut receivers: Vec<_> =
            receivers.into_iter().filter(|(rate, weight)| real(*rate) && real(*weight)).collect();
        receivers.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { receivers }
    }

    /// Makes receivers whose rates, in bits a second, are spread evenly on a logarithmic scale over this range.
    #[must_use]
    pub fn log_uniform(rates: RangeInclusive<f64>) -> Self {
        let (least, most) = rates.into_inner();
        let at = |number: u32| least * (most / least).powf(f64::from(number) / f64::from(POPULATION_RATES - 1));
        Self::new((0..POPULATION_RATES).map(|number| (at(number), 1.0)))
    }

    /// Returns the default rates of a video's slowest and fastest receiver, by luma samples a second: whole kilobits a
    /// second, a factor of 16 apart.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
    pub fn usual_bitrates(size: Size, rate: FrameRate) -> [u64; 2] {
        let samples = size.pixels() as f64 * f64::from(rate.frames) / f64::from(rate.seconds.max(1));
        let least = USUAL_LEAST * (samples / USUAL_SAMPLES).powf(RATE_GROWTH_EXPONENT);
        let least = ((least / 1e3).round() as u64).max(1) * 1000;
        [least, FASTEST_TO_SLOWEST * least]
    }

    /// Splits the receivers into at most `groups` groups of neighbours, by rising rate, of about equal weight. A
    /// receiver at a border is in the faster group.
    #[must_use]
    pub fn split(&self, groups: usize) -> Vec<Self> {
        let all: f64 = self.receivers.iter().map(|receiver| receiver.1).sum();
        let mut found: Vec<Self> = vec![Self { receivers: Vec::new() }];
        let mut below = 0.0;
        let mut last = 0;
        for &(rate, weight) in &self.receivers {
            // A little less, so that sums of equal parts reach their target.
            let reached = |group: &usize| (below + weight / 2.0) * groups as f64 >= *group as f64 * all * (1.0 - 1e-9);
            let group = (1..groups).filter(reached).count();
            below += weight;
            match found.last_mut() {
                // Groups differ by at least a whole bit a second.
                Some(before) if group == last || before.fastest().is_none_or(|before| rate < before + 1.0) => {
                    before.receivers.push((rate, weight));
                }
                _ => {
                    found.push(Self { receivers: vec![(rate, weight)] });
                    last = group;
                }
            }
        }
        found
    }

    /// Returns all rates, rising.
    pub(crate) fn rates(&self) -> impl Iterator<Item = f64> {
        self.receivers.iter().map(|receiver| receiver.0)
    }

    /// Returns the slowest receiver's rate; `None` without receivers.
    #[must_use]
    pub fn slowest(&self) -> Option<f64> {
        self.receivers.first().map(|receiver| receiver.0)
    }

    /// Returns the fastest receiver's rate; `None` without receivers.
    #[must_use]
    pub fn fastest(&self) -> Option<f64> {
        self.receivers.last().map(|receiver| receiver.0)
    }

    /// Returns the rate at or below which half of the weight lies; `None` without receivers.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let half = self.receivers.iter().map(|receiver| receiver.1).sum::<f64>() / 2.0;
        let mut below = 0.0;
        let reached = |receiver: &&(f64, f64)| {
            below += receiver.1;
            below >= half
        };
        self.receivers.iter().find(reached).map(|receiver| receiver.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_sorted_and_the_median_goes_by_weight() {
        let population = Population::new([(900.0, 1.0), (100.0, 3.0), (300.0, 1.0), (f64::NAN, 9.0), (-1.0, 9.0)]);
        assert_eq!(population.slowest(), Some(100.0));
        assert_eq!(population.fastest(), Some(900.0));
        assert_eq!(population.median(), Some(100.0));
        assert_eq!(Population::new([]).median(), None);
        let even = Population::log_uniform(100.0..=1600.0);
        assert!((even.median().expect("five") - 400.0).abs() < 1e-9);
    }

    #[test]
    fn groups_are_neighbours_of_about_equal_weight() {
        let counts = |population: &Population, groups| -> Vec<usize> {
            population.split(groups).iter().map(|group| group.receivers.len()).collect()
        };
        let five = Population::log_uniform(1e5..=16e5);
        assert_eq!([1, 2, 3].map(|groups| counts(&five, groups)), [vec![5], vec![2, 3], vec![2, 1, 2]]);
        assert_eq!(
            five.split(2).iter().flat_map(Population::rates).collect::<Vec<_>>(),
            five.rates().collect::<Vec<_>>()
        );
        let heavy = Population::new([(1e5, 9.0), (2e5, 1.0), (3e5, 1.0)]);
        assert_eq!(counts(&heavy, 2), [1, 2]);
        assert_eq!(counts(&Population::new([]), 3), [0]);
        // One rate is one group, however many receivers have it.
        assert_eq!(counts(&Population::new([(1e5, 1.0), (1e5, 1.0), (1e5, 1.0)]), 3), [3]);
    }

    #[test]
    fn usual_rates_grow_slower_than_pictures() {
        let least = |width, height, frames| {
            let rate = FrameRate { frames, seconds: 1 };
            let [least, most] = Population::usual_bitrates(Size::new(width, height).expect("a valid size"), rate);
            assert_eq!(most, 16 * least);
            least
        };
        assert_eq!([least(320, 180, 30), least(640, 360, 30), least(1280, 720, 30)], [80_000, 226_000, 640_000]);
        assert_eq!([least(1, 1, 1), least(320, 180, 60)], [1000, 135_000]);
    }

    #[test]
    fn a_frame_has_its_share_of_a_second() {
        let rate = FrameRate { frames: 30_000, seconds: 1001 };
        assert_eq!(rate.bytes(240_000.0), 1001);
    }
}
