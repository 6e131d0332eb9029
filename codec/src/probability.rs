//! An adaptive binary probability: the mean of a fast and a slow estimate.

/// Bits of a probability as the range coder uses it.
pub(crate) const PROBABILITY_BITS: u32 = 15;
/// How fast the fast estimate follows: of significance and refinement,
pub(crate) const STEADY: u32 = 5;
/// and of signs, which depend on where in the picture they are, and all else.
pub(crate) const SWIFT: u32 = 4;
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

    /// Moves both estimates towards one.
    #[inline(always)]
    pub(crate) fn rise<const FAST: u32>(&mut self) {
        self.fast = kept(self.fast, FAST, 0xFFFF);
        self.slow = kept(self.slow, SLOW, 0xFFFF);
    }

    /// Moves both estimates towards zero.
    #[inline(always)]
    pub(crate) fn fall<const FAST: u32>(&mut self) {
        self.fast = kept(self.fast, FAST, 0);
        self.slow = kept(self.slow, SLOW, 0);
    }
}

/// All but one in 2^`rate` of an estimate, and as much of `target`; rounds down.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a mean of two 16-bit numbers has 16 bits")]
const fn kept(estimate: u16, rate: u32, target: u32) -> u16 {
    (((estimate as u32 * ((1 << rate) - 1)) + target) >> rate) as u16
}
