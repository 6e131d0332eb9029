//! The receivers that one encode is meant for.

use std::ops::RangeInclusive;

use nestcast_units::{Bitrate, FrameRate};

use crate::picture::Size;

/// Returns the bytes of a frame at this many bits a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) fn frame_bytes(rate: FrameRate, bits_per_second: f64) -> usize {
    (bits_per_second / 8.0 * f64::from(rate.seconds()) / f64::from(rate.frames())).max(0.0) as usize
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
    /// Makes receivers of these rates, each with its weight. It skips rates of 0, and weights that are not positive and
    /// finite. Without receivers, all of a frame is its base layer, and it has up to 1 MiB.
    #[must_use]
    pub fn new(receivers: impl IntoIterator<Item = (Bitrate, f64)>) -> Self {
        Self::of_bits(receivers.into_iter().map(|(rate, weight)| (rate.bits() as f64, weight)))
    }

    fn of_bits(receivers: impl Iterator<Item = (f64, f64)>) -> Self {
        let real = |value: f64| value.is_finite() && value > 0.0;
        let mut receivers: Vec<_> = receivers.filter(|(rate, weight)| real(*rate) && real(*weight)).collect();
        receivers.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { receivers }
    }

    /// Makes receivers whose rates are spread evenly on a logarithmic scale over this range. Rates of 0 count as 1 bit a
    /// second.
    #[must_use]
    pub fn log_uniform(rates: RangeInclusive<Bitrate>) -> Self {
        let [least, most] = [rates.start(), rates.end()].map(|rate| (rate.bits() as f64).max(1.0));
        let at = |number: u32| least * (most / least).powf(f64::from(number) / f64::from(POPULATION_RATES - 1));
        Self::of_bits((0..POPULATION_RATES).map(|number| (at(number), 1.0)))
    }

    /// Returns the default rates of a video's slowest and fastest receiver, by luma samples a second: whole kilobits a
    /// second, a factor of 16 apart.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
    pub fn usual_bitrates(size: Size, rate: FrameRate) -> [Bitrate; 2] {
        let samples = size.pixels() as f64 * f64::from(rate.frames()) / f64::from(rate.seconds());
        let least = USUAL_LEAST * (samples / USUAL_SAMPLES).powf(RATE_GROWTH_EXPONENT);
        let least = ((least / 1e3).round() as u64).max(1) * 1000;
        [least, FASTEST_TO_SLOWEST * least].map(Bitrate::from_bits)
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
                Some(before) if group == last || before.fastest_bits().is_none_or(|before| rate < before + 1.0) => {
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
    pub fn slowest(&self) -> Option<Bitrate> {
        self.slowest_bits().map(Bitrate::rounded)
    }

    /// Returns the fastest receiver's rate; `None` without receivers.
    #[must_use]
    pub fn fastest(&self) -> Option<Bitrate> {
        self.fastest_bits().map(Bitrate::rounded)
    }

    /// Returns the rate at or below which half of the weight lies; `None` without receivers.
    #[must_use]
    pub fn median(&self) -> Option<Bitrate> {
        self.median_bits().map(Bitrate::rounded)
    }

    /// As [`Population::slowest`], in bits a second, with fractions: rates of a logarithmic scale have them.
    pub(crate) fn slowest_bits(&self) -> Option<f64> {
        self.receivers.first().map(|receiver| receiver.0)
    }

    /// As [`Population::fastest`], with fractions of a bit.
    pub(crate) fn fastest_bits(&self) -> Option<f64> {
        self.receivers.last().map(|receiver| receiver.0)
    }

    /// As [`Population::median`], with fractions of a bit.
    pub(crate) fn median_bits(&self) -> Option<f64> {
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

    fn of(receivers: &[(u64, f64)]) -> Population {
        Population::new(receivers.iter().map(|(bits, weight)| (Bitrate::from_bits(*bits), *weight)))
    }

    fn log_uniform(least: u64, most: u64) -> Population {
        Population::log_uniform(Bitrate::from_bits(least)..=Bitrate::from_bits(most))
    }

    #[test]
    fn rates_are_sorted_and_the_median_goes_by_weight() {
        let population = of(&[(900, 1.0), (100, 3.0), (300, 1.0), (200, f64::NAN), (200, -1.0), (0, 9.0)]);
        assert_eq!(population.slowest(), Some(Bitrate::from_bits(100)));
        assert_eq!(population.fastest(), Some(Bitrate::from_bits(900)));
        assert_eq!(population.median(), Some(Bitrate::from_bits(100)));
        assert_eq!(of(&[]).median(), None);
        let even = log_uniform(100, 1600);
        assert!((even.median_bits().expect("five") - 400.0).abs() < 1e-9);
    }

    #[test]
    fn groups_are_neighbours_of_about_equal_weight() {
        let counts = |population: &Population, groups| -> Vec<usize> {
            population.split(groups).iter().map(|group| group.receivers.len()).collect()
        };
        let five = log_uniform(100_000, 1_600_000);
        assert_eq!([1, 2, 3].map(|groups| counts(&five, groups)), [vec![5], vec![2, 3], vec![2, 1, 2]]);
        assert_eq!(
            five.split(2).iter().flat_map(Population::rates).collect::<Vec<_>>(),
            five.rates().collect::<Vec<_>>()
        );
        let heavy = of(&[(100_000, 9.0), (200_000, 1.0), (300_000, 1.0)]);
        assert_eq!(counts(&heavy, 2), [1, 2]);
        assert_eq!(counts(&of(&[]), 3), [0]);
        // One rate is one group, however many receivers have it.
        assert_eq!(counts(&of(&[(100_000, 1.0); 3]), 3), [3]);
    }

    #[test]
    fn a_range_from_nothing_begins_at_one_bit_a_second() {
        let population = log_uniform(0, 1_000_000);
        assert_eq!(population.slowest(), Some(Bitrate::from_bits(1)));
        assert_eq!(population.receivers.len(), POPULATION_RATES as usize);
    }

    #[test]
    fn usual_rates_grow_slower_than_pictures() {
        let least = |width, height, frames| {
            let rate = FrameRate::new(frames, 1).expect("a rate");
            let size = Size::new(width, height).expect("a valid size");
            let [least, most] = Population::usual_bitrates(size, rate).map(Bitrate::bits);
            assert_eq!(most, 16 * least);
            least
        };
        assert_eq!([least(320, 180, 30), least(640, 360, 30), least(1280, 720, 30)], [80_000, 226_000, 640_000]);
        assert_eq!([least(1, 1, 1), least(320, 180, 60)], [1000, 135_000]);
    }

    #[test]
    fn a_frame_has_its_share_of_a_second() {
        let rate = FrameRate::new(30_000, 1001).expect("a rate");
        assert_eq!(frame_bytes(rate, 240_000.0), 1001);
    }
}
