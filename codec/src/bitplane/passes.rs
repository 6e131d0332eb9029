//! The three passes over a code block (spec, "Coding passes").
//!
//! Prior art: significance propagation, magnitude refinement and cleanup are those of EBCOT (Taubman, "High performance
//! scalable image compression with EBCOT", IEEE Trans. Image Processing 9(7), 2000, section III). Three things differ.
//! A pass covers a whole subband before the next begins. A coefficient that a significant neighbour adds to a pass is
//! coded in the same pass, wherever it lies in the code block. A run is any number of zeros in one row of eight; its
//! last coefficient is inferred.

use std::hint::select_unpredictable;

use crate::bitplane::code_block::{CODED_NONZERO, CodeBlock, ZERO_IN_PLANE};
use crate::bitplane::neighbourhood::{CodingPass, Here};
use crate::entropy::probability::{RATE_1_IN_16, RATE_1_IN_32};
use crate::entropy::range_coder::Coder;
use crate::subband::quantise::SIGN_BIT;

/// Passes over a subband in one plane.
pub(crate) const PASSES_PER_PLANE: usize = 3;
/// Codes which coefficients next to a significant one become significant too: these are the most likely.
pub(super) const SIGNIFICANCE_PASS: usize = 0;
/// Codes one more bit of the significant coefficients.
pub(super) const REFINEMENT_PASS: usize = 1;
/// Codes which of all other coefficients become significant.
pub(super) const CLEANUP_PASS: usize = 2;

/// A place inside a code block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Within {
    /// The bit of a coefficient that became significant and has no sign yet.
    unsigned: Option<u32>,
    /// The coefficients of a run that is not zero, and whether its first one is not coded yet.
    run: u64,
    must_hold_one: bool,
}

impl Within {
    /// Returns whether the coder starved on a sign.
    pub(super) const fn lacks_sign(&self) -> bool {
        self.unsigned.is_some()
    }
}

impl CodingPass<'_> {
    /// Code blocks in a row.
    pub(super) const fn across(&self) -> usize {
        self.map.grid.across
    }

    /// Rows of code blocks.
    pub(super) const fn down(&self) -> usize {
        self.map.grid.down
    }

    /// Codes the sign on which the coder starved, if there is one.
    pub(super) fn resume<C: Coder>(&mut self, bx: usize, by: usize, within: &mut Within, coder: &mut C) -> Option<()> {
        let Some(bit) = within.unsigned else { return Some(()) };
        let here = self.here(bx, by);
        let mut block = self.blocks[here.at];
        self.code_sign(&mut block, here, bit, coder)?;
        within.unsigned = None;
        self.leave(here, block);
        Some(())
    }

    /// Codes one pass over one code block. Returns `None` if the coder starved in it; the next call goes on from there.
    #[inline(always)]
    pub(super) fn code_block<C: Coder, const PASS: usize>(
        &mut self,
        bx: usize,
        by: usize,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        let here = self.here(bx, by);
        let state = self.states[here.at];
        let idle = match PASS {
            SIGNIFICANCE_PASS => state == 0,
            REFINEMENT_PASS => state & CODED_NONZERO == 0,
            _ => false,
        };
        if idle {
            return Some(());
        }
        let mut here = here;
        if C::USES_CONTEXTS {
            here.parent = self.parent(here);
            if PASS != REFINEMENT_PASS {
                here.others = self.others(here);
            }
        }
        if PASS != REFINEMENT_PASS && state & CODED_NONZERO == 0 {
            let nonzero = state & ZERO_IN_PLANE == 0 && self.code_nonzero(here, coder)?;
            if !nonzero {
                // The last pass closes the plane.
                let state = if PASS == SIGNIFICANCE_PASS { ZERO_IN_PLANE } else { 0 };
                self.states[here.at] = self.states[here.at] & !ZERO_IN_PLANE | state;
                return Some(());
            }
            self.states[here.at] |= CODED_NONZERO;
            let block = &mut self.blocks[here.at];
            (block.nonzero_since_plane, block.plane) = (true, self.plane + 1);
        }
        let mut block = self.blocks[here.at];
        let idle = match PASS {
            SIGNIFICANCE_PASS => block.candidates() == 0,
            REFINEMENT_PASS => block.unrefined() == 0,
            _ => false,
        };
        if idle {
            return Some(());
        }
        let here = self.with_ones::<C, PASS>(here);
        let done = match PASS {
            SIGNIFICANCE_PASS => self.significance_pass(&mut block, here, within, coder),
            REFINEMENT_PASS => self.refinement_pass(&mut block, here, coder),
            _ => self.cleanup_pass(&mut block, here, within, coder),
        };
        self.leave(here, block);
        done
    }

    /// Adds what an encoder needs of its source.
    #[inline(always)]
    fn with_ones<C: Coder, const PASS: usize>(&self, here: Here) -> Here {
        if C::WRITES_BITS { Here { ones: self.source_with(here, self.bits::<PASS>()), ..here } } else { here }
    }

    /// The bits of a level of which a pass codes whether one is set.
    #[inline(always)]
    const fn bits<const PASS: usize>(&self) -> u16 {
        if PASS == REFINEMENT_PASS { 1 << self.plane } else { !SIGN_BIT >> self.plane << self.plane }
    }

    /// Stores a code block, and marks the coefficients around it that are near a newly significant one.
    #[inline(always)]
    fn leave(&mut self, here: Here, block: CodeBlock) {
        let before = self.blocks[here.at].significant;
        let new = block.significant & !before;
        self.blocks[here.at] = block;
        if new != 0 {
            if before == 0 {
                self.note_significant(here);
            }
            self.mark_around(here, new);
        }
    }

    #[inline(always)]
    fn significance_pass<C: Coder>(
        &mut self,
        block: &mut CodeBlock,
        here: Here,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        let mut left = block.candidates();
        let mut must_hold_one = block.must_hold_one();
        while left != 0 {
            let bit = left.trailing_zeros();
            if self.code_significance(here, bit, must_hold_one, coder)? {
                self.first_one(block, here, bit, within, coder)?;
                must_hold_one = false;
                left = block.candidates();
            } else {
                block.visited |= 1 << bit;
                left &= left - 1;
            }
        }
        Some(())
    }

    #[inline(always)]
    fn refinement_pass<C: Coder>(&mut self, block: &mut CodeBlock, here: Here, coder: &mut C) -> Option<()> {
        let mut left = block.unrefined();
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let place = self.place(here, bit);
            let context = if C::USES_CONTEXTS { self.refinement_context(here, bit) } else { 0 };
            let one = coder.code::<RATE_1_IN_32>(self.probabilities, context, here.ones >> bit & 1 != 0)?;
            block.visited |= 1 << bit;
            if one {
                self.levels[place] |= 1 << self.plane;
                if C::USES_CONTEXTS {
                    self.spread(place);
                }
            }
        }
        Some(())
    }

    /// Codes the cleanup pass and closes the plane.
    #[inline(always)]
    fn cleanup_pass<C: Coder>(
        &mut self,
        block: &mut CodeBlock,
        here: Here,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        self.clean_up(block, here, within, coder)?;
        within.run = 0;
        block.finish_plane(self.plane);
        Some(())
    }

    /// Codes, once a plane, whether a code block that was zero so far stays zero in this plane.
    #[inline(always)]
    fn code_nonzero<C: Coder>(&mut self, here: Here, coder: &mut C) -> Option<bool> {
        let context = if C::USES_CONTEXTS { self.code_block_context(here) } else { 0 };
        let source = C::WRITES_BITS && self.all[here.at] >> self.plane != 0;
        coder.code::<RATE_1_IN_16>(self.probabilities, context, source)
    }

    /// Codes the rest. Nothing is known around most coefficients; a row of these is one symbol while it stays zero, for
    /// speed.
    #[inline(always)]
    fn clean_up<C: Coder>(
        &mut self,
        block: &mut CodeBlock,
        here: Here,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        let mut unknown = self.unknown_around(block, here);
        loop {
            // The run that is not zero: that in which the coder starved, or the one found below.
            self.end_run(block, here, &mut unknown, within, coder)?;
            let mut left = block.undecided();
            loop {
                if left == 0 {
                    return Some(());
                }
                // A coefficient or a run: which one is unpredictable, so there is no branch on it until there is a one.
                let bit = left.trailing_zeros();
                let one = 1 << bit;
                let row = 0xFF << (bit & !7);
                let mask = select_unpredictable(unknown & one != 0, left & unknown & row, one);
                let context = if C::USES_CONTEXTS {
                    let must_hold_one = block.must_hold_one();
                    let of_run = self.map.class.zero_run(mask.count_ones(), must_hold_one);
                    let of_one = self.significance_context(here, bit, must_hold_one);
                    select_unpredictable(mask == one, of_one, of_run)
                } else {
                    0
                };
                if mask == one {
                    coder.about(self.map.index, here.coefficient(bit));
                }
                if coder.code::<RATE_1_IN_32>(self.probabilities, context, here.ones & mask != 0)? {
                    // A coefficient is a run of one, which is certain.
                    (within.run, within.must_hold_one) = (mask, true);
                    break;
                }
                block.visited |= mask;
                left &= !mask;
            }
        }
    }

    /// Codes the remaining coefficients of a run that is not zero.
    #[inline(always)]
    fn end_run<C: Coder>(
        &mut self,
        block: &mut CodeBlock,
        here: Here,
        unknown: &mut u64,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        let mut left = block.undecided() & within.run;
        while left != 0 {
            let bit = left.trailing_zeros();
            // The last coefficient of a run that must contain a one is that one.
            let certain = within.must_hold_one && left & (left - 1) == 0;
            if certain || self.code_significance(here, bit, within.must_hold_one, coder)? {
                within.must_hold_one = false;
                self.first_one(block, here, bit, within, coder)?;
                *unknown &= !self.reached[(bit & 63) as usize];
            } else {
                block.visited |= 1 << bit;
            }
            left &= left - 1;
        }
        Some(())
    }

    /// Codes whether one coefficient becomes significant.
    #[inline(always)]
    fn code_significance<C: Coder>(
        &mut self,
        here: Here,
        bit: u32,
        must_hold_one: bool,
        coder: &mut C,
    ) -> Option<bool> {
        coder.about(self.map.index, here.coefficient(bit));
        let context = if C::USES_CONTEXTS { self.significance_context(here, bit, must_hold_one) } else { 0 };
        coder.code::<RATE_1_IN_32>(self.probabilities, context, here.ones >> bit & 1 != 0)
    }

    /// Handles the first one of a coefficient: codes its sign, now or when the coder goes on.
    #[inline(always)]
    fn first_one<C: Coder>(
        &mut self,
        block: &mut CodeBlock,
        here: Here,
        bit: u32,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        block.visited |= 1 << bit;
        let coded = self.code_sign(block, here, bit, coder);
        if coded.is_none() {
            within.unsigned = Some(bit);
        }
        coded
    }

    /// Codes the gain of a coefficient's region, unless it is known. The coder is moved, so that it stays in registers
    /// elsewhere.
    #[inline(always)]
    fn code_gain<C: Coder>(&mut self, side: u32, [x, y]: [usize; 2], coder: &mut C) -> Option<()> {
        let region = [x >> side, y >> side];
        if self.gains.knows(region) {
            return Some(());
        }
        let mut own = std::mem::take(coder);
        let done = self.gains.code(region, self.probabilities, &mut own);
        *coder = own;
        done
    }

    /// Codes the sign of a coefficient, which makes it significant, and updates its surroundings. Before the first sign
    /// of a region it codes the region's gain.
    #[inline(always)]
    fn code_sign<C: Coder>(&mut self, block: &mut CodeBlock, here: Here, bit: u32, coder: &mut C) -> Option<()> {
        if let Some(side) = self.scaled {
            self.code_gain(side, here.coefficient(bit), coder)?;
        }
        let place = self.place(here, bit);
        coder.about(self.map.index, here.coefficient(bit));
        let (turned, context) = if C::USES_CONTEXTS { self.sign_context(place) } else { (false, 0) };
        let source = C::WRITES_BITS && self.source[place] & SIGN_BIT != 0;
        let negative = coder.code_even::<RATE_1_IN_16>(self.probabilities, context, source, turned)?;
        self.levels[place] = 1 << self.plane | u16::from(negative) << 15;
        block.mark_significant(bit);
        if C::USES_CONTEXTS {
            self.spread(place);
        }
        Some(())
    }
}
