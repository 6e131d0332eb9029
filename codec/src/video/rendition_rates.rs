//! The receivers that each rendition of one video serves.

use nestcast_units::Bitrate;

/// The most renditions of one video.
pub const MAX_RENDITIONS: usize = 3;

/// Rates are below this: stored videos have no larger numbers.
const RATE_LIMIT: Bitrate = Bitrate::from_bits(1 << 35);

/// The number of renditions of a video, and the receivers of each if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenditionRates {
    count: usize,
    rates: [Bitrate; MAX_RENDITIONS],
}

impl RenditionRates {
    /// One rendition for all receivers.
    pub const ONE: Self = Self { count: 1, rates: [Bitrate::from_bits(0); MAX_RENDITIONS] };

    /// Makes renditions for receivers from these rates on, rising; a single rate means one rendition
    /// for all. Returns `None` for no rates or more than [`MAX_RENDITIONS`], and if rates do not rise or reach 2^35
    /// bits a second.
    #[must_use]
    pub fn new(rates: &[Bitrate]) -> Option<Self> {
        let rise = rates.windows(2).all(|pair| pair[0] < pair[1]) && rates.iter().all(|rate| *rate < RATE_LIMIT);
        match rates.len() {
            1 => Some(Self::ONE),
            count @ 2..=MAX_RENDITIONS if rise => {
                let mut all = Self::ONE.rates;
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

    /// Returns the rate of each rendition's slowest receiver, rising; 0 for a single rendition.
    #[must_use]
    pub fn rates(&self) -> &[Bitrate] {
        &self.rates[..self.count]
    }

    /// Returns the rendition, from 0, for a receiver of this rate: the fastest one whose rate it reaches, otherwise the
    /// slowest.
    #[must_use]
    pub fn serving(&self, bitrate: Bitrate) -> usize {
        self.rates().iter().filter(|rate| **rate <= bitrate).count().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_served_by_the_fastest_loop_that_it_carries() {
        let new = |bits: &[u64]| RenditionRates::new(&bits.iter().copied().map(Bitrate::from_bits).collect::<Vec<_>>());
        let renditions = new(&[100, 400, 900]).expect("they rise");
        let rates = [0, 99, 100, 399, 400, 899, 900, u64::MAX].map(Bitrate::from_bits);
        assert_eq!(rates.map(|rate| renditions.serving(rate)), [0, 0, 0, 0, 1, 1, 2, 2]);
        assert_eq!((RenditionRates::ONE.serving(Bitrate::from_bits(7)), RenditionRates::ONE.count()), (0, 1));
        assert_eq!(new(&[500]), Some(RenditionRates::ONE));
        for wrong in [&[][..], &[1, 1], &[2, 1], &[1, 2, 3, 4], &[1, RATE_LIMIT.bits()]] {
            assert_eq!(new(wrong), None);
        }
    }
}
