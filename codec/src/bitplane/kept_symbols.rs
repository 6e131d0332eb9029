//! The first symbols of a few that belong together, kept for a decoder that starved among them.

use crate::entropy::probability::{Probability, RATE_1_IN_16};
use crate::entropy::range_coder::Coder;

/// Up to 32 symbols, of which a decoder that goes on reads the first ones again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeptSymbols {
    bits: u32,
    count: u32,
}

impl KeptSymbols {
    /// Codes symbol number `read` of these, unless it is kept from before, and counts it. Returns `None` if the coder
    /// starved; the caller begins again with `read` = 0.
    pub(super) fn code<C: Coder>(
        &mut self,
        read: &mut u32,
        probabilities: &mut [Probability],
        coder: &mut C,
        context: usize,
        bit: bool,
    ) -> Option<bool> {
        if *read == self.count {
            let bit = coder.code::<RATE_1_IN_16>(probabilities, context, bit)?;
            self.bits |= u32::from(bit) << *read;
            self.count += 1;
        }
        *read += 1;
        Some(self.bits >> (*read - 1) & 1 != 0)
    }
}
