//! The receivers that each rendition of one video serves.

/// The most renditions of one video.
pub const MAX_RENDITIONS: usize = 3;

/// Rates are below this, in bits a second: stored videos have no larger numbers.
const RATE_LIMIT_BITS: u64 = 1 << 35;

/// The number of renditions of a video, and the receivers of each if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenditionRates {
    count: usize,
    rates: [u64; MAX_RENDITIONS],
}

impl RenditionRates {
    /// One rendition for all receivers.
    pub const ONE: Self = Self { count: 1, rates: [0; MAX_RENDITIONS] };

    /// Makes renditions for receivers from these rates on, in bits a second, rising; a single rate means one rendition
    /// for all. Returns `None` for no rates or more than [`MAX_RENDITIONS`], and if rates do not rise or reach 2^35.
    #[must_use]
    pub fn new(rates: &[u64]) -> Option<Self> {
        let rise = rates.windows(2).all(|pair| pair[0] < pair[1]) && rates.iter().all(|rate| *rate < RATE_LIMIT_BITS);
        match rates.len() {
            1 => Some(Self::ONE),
            count @ 2..=MAX_RENDITIONS if rise => {
                let mut all = [0; MAX_RENDITIONS];
                all[..count].copy_from_slice(rates);
                Some(Self { count, rates: all })
            }
            _ => None,
        }
    }

    /// Returns the number of renditions, 1 to [`MAX_RENDITIONS`].
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the rate of each rendition's slowest receiver, in bits a second, rising; 0 for a single rendition.
    #[must_use]
    pub fn rates(&self) -> &[u64] {
        &self.rates[..self.count]
    }

    /// Returns the rendition, from 0, for a receiver of this rate, rounded to whole bits a second: the fastest one
    /// whose rate it reaches, otherwise the slowest.
    #[must_use]
    pub fn serving(&self, bits_per_second: f64) -> usize {
        let carried = |rate: &&u64| **rate as f64 <= bits_per_second.round();
        self.rates().iter().filter(carried).count().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_served_by_the_fastest_loop_that_it_carries() {
        let renditions = RenditionRates::new(&[100, 400, 900]).expect("they rise");
        let rates = [f64::NAN, 0.0, 99.0, 99.9, 399.0, 400.0, 899.0, 900.0, f64::INFINITY];
        assert_eq!(rates.map(|rate| renditions.serving(rate)), [0, 0, 0, 0, 0, 1, 1, 2, 2]);
        assert_eq!((RenditionRates::ONE.serving(7.0), RenditionRates::ONE.count()), (0, 1));
        assert_eq!(RenditionRates::new(&[500]), Some(RenditionRates::ONE));
        for wrong in [&[][..], &[1, 1], &[2, 1], &[1, 2, 3, 4], &[1, RATE_LIMIT_BITS]] {
            assert_eq!(RenditionRates::new(wrong), None);
        }
    }
}
