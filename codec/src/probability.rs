//! An adaptive binary probability: the mean of a fast and a slow estimate.

/// Bits of a probability as the range coder uses it.
pub(crate) const PROBABILITY_BITS: u32 = 15;
const FAST: u32 = 4;
const SLOW: u32 = 8;
/// Keeps both symbols possible: the unlikely one has at least 2^-10 of the range.
const MARGIN: u32 = 32;

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

    /// In 1/32768, within `MARGIN` of the ends.
    #[inline]
    pub(crate) fn of_one(self) -> u32 {
        ((u32::from(self.fast) + u32::from(self.slow)) >> 2).clamp(MARGIN, (1 << PROBABILITY_BITS) - MARGIN)
    }

    /// Moves both estimates towards the bit; shifts of negative numbers round down.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both stay within 16 bits")]
    pub(crate) fn adapt(&mut self, bit: bool) {
        let target = if bit { 0xFFFF } else { 0 };
        self.fast = (i32::from(self.fast) + ((target - i32::from(self.fast)) >> FAST)) as u16;
        self.slow = (i32::from(self.slow) + ((target - i32::from(self.slow)) >> SLOW)) as u16;
    }
}
