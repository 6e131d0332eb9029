//! An adaptive binary probability: the mean of a fast and a slow estimate, each an exponential average of the bits so
//! far.
//!
//! Prior art: the mean of two rates comes from the arithmetic coder of VVC (Recommendation ITU-T H.266 (2020), section
//! 9.3.4.3); a state that moves by a shift comes from LZMA (Pavlov, LZMA specification, 2015).

/// Bits of a probability as the range coder uses it.
pub(crate) const PROBABILITY_BITS: u32 = 15;
/// The rates of significance and refinement: with each bit, the fast estimate moves by 1/32 of its error, the slow one
/// by 1/256.
pub(crate) const RATE_1_IN_32: u32 = rates(5, 8);
/// The rates of signs, which depend on the place in the picture, and of all else in pictures: 1/16 and 1/256.
pub(crate) const RATE_1_IN_16: u32 = rates(4, 8);
/// The rates of motion, of which a frame has few symbols: 1/16 and 1/64.
pub(crate) const RATE_OF_MOTION: u32 = rates(4, 6);

/// Packs the shifts of both estimates into one number, so that it can be a const parameter.
const fn rates(fast: u32, slow: u32) -> u32 {
    fast | slow << 4
}

/// The least probability of either symbol, in 1/32768: the unlikely one has at least 2^-10 of the range.
const MIN_PROBABILITY: u32 = 32;
const MAX_PROBABILITY: u32 = (1 << PROBABILITY_BITS) - MIN_PROBABILITY;

/// Probability that the next bit is one, in 1/65536.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probability {
    fast: u16,
    slow: u16,
}

impl Probability {
    pub(crate) const fn new(prior: u16) -> Self {
        Self { fast: prior, slow: prior }
    }

    /// Returns the probability in 1/32768, at least [`MIN_PROBABILITY`] from either end.
    #[inline(always)]
    pub(crate) fn of_one(self) -> u32 {
        let mean = (u32::from(self.fast) + u32::from(self.slow)) >> 2;
        // Most means are in range, so the range coder rarely waits for the clamp.
        if mean.wrapping_sub(MIN_PROBABILITY) > MAX_PROBABILITY - MIN_PROBABILITY { clamped(mean) } else { mean }
    }

    /// Moves both estimates towards an unpredictable bit, without a branch.
    #[inline(always)]
    pub(crate) fn learn<const RATES: u32>(&mut self, bit: bool) {
        self.fast = moved(self.fast, bit, RATES & 0xF);
        self.slow = moved(self.slow, bit, RATES >> 4);
    }

    /// Moves both estimates towards one.
    #[inline(always)]
    pub(crate) fn rise<const RATES: u32>(&mut self) {
        self.fast = risen(self.fast, RATES & 0xF);
        self.slow = risen(self.slow, RATES >> 4);
    }

    /// Moves both estimates towards zero.
    #[inline(always)]
    pub(crate) fn fall<const RATES: u32>(&mut self) {
        self.fast = fallen(self.fast, RATES & 0xF);
        self.slow = fallen(self.slow, RATES >> 4);
    }
}

#[cold]
fn clamped(mean: u32) -> u32 {
    mean.clamp(MIN_PROBABILITY, MAX_PROBABILITY)
}

/// Moves an estimate by one in 2^`shift` of the way to 65535; rounds down.
#[inline(always)]
const fn risen(estimate: u16, shift: u32) -> u16 {
    estimate + (!estimate >> shift)
}

/// Moves an estimate by one in 2^`shift` of the way to zero; rounds down.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most the estimate")]
const fn fallen(estimate: u16, shift: u32) -> u16 {
    let estimate = estimate as u32;
    (estimate - ((estimate + (1 << shift) - 1) >> shift)) as u16
}

/// [`risen`] or [`fallen`].
#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the estimate and 0 or 65535")]
fn moved(estimate: u16, up: bool, shift: u32) -> u16 {
    let target = i32::from(u16::MAX) & -i32::from(up);
    let estimate = i32::from(estimate);
    (estimate + ((target - estimate) >> shift)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_weighted_means_rounded_down() {
        for estimate in 0..=u16::MAX {
            for shift in [4, 5, 6, 8] {
                let mean = |target: u32| (u32::from(estimate) * ((1 << shift) - 1) + target) >> shift;
                assert_eq!(u32::from(risen(estimate, shift)), mean(0xFFFF));
                assert_eq!(u32::from(fallen(estimate, shift)), mean(0));
                assert_eq!(
                    [true, false].map(|up| moved(estimate, up, shift)),
                    [risen(estimate, shift), fallen(estimate, shift)]
                );
            }
        }
    }
}
