//! The three passes over a block (spec, "Pieces").

use crate::block::{BLOCK, Block, mark_outside};
use crate::pieces::{NEAR, REFINE, Within};
use crate::probability::{Probability, STEADY, SWIFT};
use crate::range::Coder;
use crate::stripe::{Grid, NEGATIVE, Stripe, UnitMap};

/// One unit in one plane, its stripe's arrays at hand.
pub(crate) struct Piece<'a> {
    map: UnitMap,
    plane: u8,
    blocks: &'a mut [Block],
    levels: &'a mut [u16],
    truth: &'a [u16],
    expected: &'a mut [u16],
    probabilities: &'a mut [Probability],
    /// What a significant coefficient adds to its left, to its place and to its right, in the rows beside its
    /// own and in its own.
    beside: [u16; 3],
    own: [u16; 3],
}

/// Where the block that is being coded is.
#[derive(Clone, Copy)]
struct Here {
    /// Block column and row.
    bx: usize,
    by: usize,
    /// Its position in the stripe's blocks, and its first coefficient's in the other arrays.
    at: usize,
    corner: usize,
    /// What is significant at the same place in the other two bands.
    others: [u64; 2],
}

impl<'a> Piece<'a> {
    pub(crate) fn new(stripe: &'a mut Stripe, unit: usize, plane: u8) -> Self {
        let Stripe { units, blocks, levels, truth, expected, probabilities, .. } = stripe;
        let map = units[unit];
        let weights = map.weights;
        let beside = [weights.diagonal, weights.above, weights.diagonal];
        let own = [weights.side, 0, weights.side];
        Self { map, plane, blocks, levels, truth, expected, probabilities, beside, own }
    }

    /// Blocks in a row.
    pub(crate) const fn across(&self) -> usize {
        self.map.grid.across
    }

    /// Rows of blocks.
    pub(crate) const fn down(&self) -> usize {
        self.map.grid.down
    }

    /// Codes the sign that the coder starved on, if it did.
    #[inline(always)]
    pub(crate) fn resume<C: Coder>(&mut self, bx: usize, by: usize, within: &mut Within, coder: &mut C) -> Option<()> {
        let Some(bit) = within.unsigned else { return Some(()) };
        let here = self.here(bx, by);
        let mut block = self.blocks[here.at];
        self.sign(&mut block, here, bit, coder)?;
        within.unsigned = None;
        self.leave(here, block);
        Some(())
    }

    /// One pass over one block; `None` if the coder starved in it, from where the next call goes on.
    #[inline(always)]
    pub(crate) fn block<C: Coder, const PASS: usize>(
        &mut self,
        bx: usize,
        by: usize,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        let here = self.here(bx, by);
        let mut block = self.blocks[here.at];
        let idle = match PASS {
            NEAR => block.likely() == 0 && (block.active || block.near == 0),
            REFINE => !block.active || block.unrefined() == 0,
            _ => false,
        };
        if idle {
            return Some(());
        }
        let here = if PASS == REFINE { here } else { Here { others: self.others(here), ..here } };
        let done = match PASS {
            NEAR => self.near(&mut block, here, within, coder),
            REFINE => self.refine(&mut block, here, coder),
            _ => self.rest(&mut block, here, within, coder),
        };
        self.leave(here, block);
        done
    }

    #[inline(always)]
    const fn here(&self, bx: usize, by: usize) -> Here {
        let corner = self.map.origin + by * BLOCK * self.map.stride + bx * BLOCK;
        Here { bx, by, at: self.map.grid.at(bx, by), corner, others: [0; 2] }
    }

    #[inline(always)]
    fn others(&self, Here { bx, by, .. }: Here) -> [u64; 2] {
        let significant = |grid: Option<Grid>| match grid {
            Some(grid) if bx < grid.across && by < grid.down => self.blocks[grid.at(bx, by)].significant,
            _ => 0,
        };
        [significant(self.map.others[0]), significant(self.map.others[1])]
    }

    /// Puts a block back, and lets those around it know what became significant.
    #[inline(always)]
    fn leave(&mut self, here: Here, block: Block) {
        let new = block.significant & !self.blocks[here.at].significant;
        self.blocks[here.at] = block;
        if new != 0 {
            mark_outside(self.blocks, here.at, self.map.grid.stride, new);
        }
    }

    /// Codes which coefficients next to a significant one become so too; each draws its neighbours in.
    #[inline(always)]
    fn near<C: Coder>(&mut self, block: &mut Block, here: Here, within: &mut Within, coder: &mut C) -> Option<()> {
        self.activate(block, here, coder)?;
        if !block.active {
            return Some(());
        }
        let mut left = block.likely();
        let mut sought = block.fresh && block.significant == 0;
        while left != 0 {
            let bit = left.trailing_zeros();
            if self.significance(here, bit, sought, coder)? {
                self.found(block, here, bit, within, coder)?;
                sought = false;
                left = block.likely();
            } else {
                block.visited |= 1 << bit;
                left &= left - 1;
            }
        }
        Some(())
    }

    /// Codes one more bit of every coefficient that was significant before this plane.
    #[inline(always)]
    fn refine<C: Coder>(&mut self, block: &mut Block, here: Here, coder: &mut C) -> Option<()> {
        let mut left = block.unrefined();
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let place = self.place(here, bit);
            let first = (self.levels[place] & !NEGATIVE) >> (self.plane + 1) == 1;
            let context = self.map.class.refinement(self.expected[place], first);
            let truth = C::WRITES && (self.truth[place] >> self.plane) & 1 != 0;
            let one = coder.code::<STEADY>(self.probabilities, context, truth)?;
            block.visited |= 1 << bit;
            if one {
                self.levels[place] |= 1 << self.plane;
                self.spread(here, bit, place);
            }
        }
        Some(())
    }

    /// Codes which of the other coefficients become significant, and closes the plane.
    #[inline(always)]
    fn rest<C: Coder>(&mut self, block: &mut Block, here: Here, within: &mut Within, coder: &mut C) -> Option<()> {
        self.activate(block, here, coder)?;
        if block.active {
            self.unlikely(block, here, within, coder)?;
        }
        within.row = 0;
        block.finish_plane(self.plane);
        Some(())
    }

    /// Codes whether an empty block stays empty, once a plane.
    #[inline(always)]
    fn activate<C: Coder>(&mut self, block: &mut Block, here: Here, coder: &mut C) -> Option<()> {
        if block.active || block.decided {
            return Some(());
        }
        let context = self.activity(block, here);
        block.active = coder.code::<SWIFT>(self.probabilities, context, block.all >> self.plane != 0)?;
        block.fresh = block.active;
        block.decided = true;
        block.plane = self.plane + 1;
        Some(())
    }

    /// The context of whether a block becomes active.
    fn activity(&self, block: &Block, Here { bx, by, at, others, .. }: Here) -> usize {
        let (map, blocks) = (&self.map, &*self.blocks);
        let around = [at - 1, at + 1, at - map.grid.stride, at + map.grid.stride];
        let active = around.iter().filter(|&&other| blocks[other].active).count();
        let parent = map.parent.map_or(0, |parent| {
            let quarter = 0x0F0F_0F0F_u64 << (4 * (bx & 1) + 32 * (by & 1));
            let (px, py) = (bx / 2, by / 2);
            let inside = px < parent.across && py < parent.down;
            if inside { (blocks[parent.at(px, py)].significant & quarter).count_ones() } else { 0 }
        });
        let others = others.iter().map(|other| other.count_ones()).sum();
        let luma = map.luma.map(|(_, grid)| blocks[grid.at(bx, by)].significant.count_ones());
        map.class.block(block.near.count_ones(), active, parent, others, luma)
    }

    /// Around most of the other coefficients nothing is known; a row of such is coded as one while it stays
    /// zero, for speed.
    #[inline(always)]
    fn unlikely<C: Coder>(&mut self, block: &mut Block, here: Here, within: &mut Within, coder: &mut C) -> Option<()> {
        let mut left = block.unknown();
        let mut fresh = block.fresh && block.significant == 0;
        while left != 0 {
            let found = left & within.row;
            if found == 0 {
                let row = self.quiet(here, left);
                let count = row.count_ones();
                if count > 1 {
                    let context = self.map.class.quiet(count, fresh);
                    let truth = C::WRITES && self.any(here, row);
                    if coder.code::<STEADY>(self.probabilities, context, truth)? {
                        (within.row, within.sought) = (row, true);
                    } else {
                        block.visited |= row;
                        left &= !row;
                    }
                    continue;
                }
            }
            let (bit, sought) =
                if found == 0 { (left.trailing_zeros(), fresh) } else { (found.trailing_zeros(), within.sought) };
            // The last one of a row that holds one is that one.
            let certain = within.sought && found == 1 << bit;
            if certain || self.significance(here, bit, sought, coder)? {
                within.sought = false;
                self.found(block, here, bit, within, coder)?;
                fresh = false;
            } else {
                block.visited |= 1 << bit;
            }
            left &= !(1 << bit);
        }
        Some(())
    }

    /// If nothing is known around the first coefficient left: those left in its row of which that is true.
    #[inline(always)]
    fn quiet(&self, here: Here, left: u64) -> u64 {
        let first = left.trailing_zeros();
        if self.expected[self.place(here, first)] != 0 {
            return 0;
        }
        let start = first & !7;
        let row: &[u16; BLOCK] = self.expected[self.place(here, start)..].first_chunk().expect("the arrays' margin");
        let [a, b, c, d, e, f, g, h] = *row;
        left & (zeros(packed([a, b, c, d])) | zeros(packed([e, f, g, h])) << 4) << start
    }

    /// An encoder's knowledge: whether any of these coefficients is significant in this plane.
    #[inline]
    fn any(&self, here: Here, mut mask: u64) -> bool {
        let mut all = 0;
        while mask != 0 {
            all |= self.truth[self.place(here, mask.trailing_zeros())];
            mask &= mask - 1;
        }
        (all & !NEGATIVE) >> self.plane != 0
    }

    /// Codes whether one coefficient becomes significant.
    #[inline(always)]
    fn significance<C: Coder>(&mut self, here: Here, bit: u32, sought: bool, coder: &mut C) -> Option<bool> {
        let place = self.place(here, bit);
        let mut kin: usize = here.others.iter().map(|other| usize::from(other >> bit & 1 != 0)).sum();
        if let Some((before, _)) = self.map.luma {
            kin = kin * 3 + usize::from((self.levels[place - before] & !NEGATIVE) >> self.plane).min(2);
        }
        let context = self.map.class.significance(self.expected[place], sought, kin);
        let truth = C::WRITES && (self.truth[place] & !NEGATIVE) >> self.plane != 0;
        coder.code::<STEADY>(self.probabilities, context, truth)
    }

    /// A coefficient became significant: codes its sign, now or where the coder goes on.
    #[inline(always)]
    fn found<C: Coder>(
        &mut self,
        block: &mut Block,
        here: Here,
        bit: u32,
        within: &mut Within,
        coder: &mut C,
    ) -> Option<()> {
        block.visited |= 1 << bit;
        let coded = self.sign(block, here, bit, coder);
        if coded.is_none() {
            within.unsigned = Some(bit);
        }
        coded
    }

    /// Codes the sign of a coefficient that just became significant, and lets its surroundings know.
    #[inline(always)]
    fn sign<C: Coder>(&mut self, block: &mut Block, here: Here, bit: u32, coder: &mut C) -> Option<()> {
        let place = self.place(here, bit);
        let side = self.sign_at(place - 1) + self.sign_at(place + 1);
        let above = self.sign_at(place - self.map.stride) + self.sign_at(place + self.map.stride);
        let luma = self.map.luma.map(|(before, _)| self.suggestion(place, before));
        let (turned, context) = self.map.class.sign(side, above, luma);
        let truth = C::WRITES && (self.truth[place] & NEGATIVE != 0) != turned;
        let negative = coder.code::<SWIFT>(self.probabilities, context, truth)? != turned;
        self.levels[place] = 1 << self.plane | u16::from(negative) << 15;
        block.mark_significant(bit);
        self.spread(here, bit, place);
        Some(())
    }

    /// -1, 0 or 1.
    #[inline(always)]
    fn sign_at(&self, place: usize) -> i8 {
        let level = self.levels[place];
        i8::from(level != 0) - 2 * i8::from(level & NEGATIVE != 0)
    }

    /// Luma's sign, and the one that it suggests here: the same if, around, signs of both are more often the same.
    #[inline(always)]
    fn suggestion(&self, place: usize, before: usize) -> (i8, i8) {
        let luma = self.sign_at(place - before);
        if luma == 0 {
            return (0, 0);
        }
        let rows = [place - self.map.stride, place, place + self.map.stride];
        let around = rows.into_iter().flat_map(|row| [row - 1, row, row + 1]);
        // The coefficient itself has no sign yet.
        let same: i8 = around.map(|at| self.sign_at(at) * self.sign_at(at - before)).sum();
        (luma, luma * same.signum())
    }

    /// Adds to what is expected around a coefficient that grew by one step of this plane: neighbours, children,
    /// other components.
    #[inline(always)]
    fn spread(&mut self, here: Here, bit: u32, place: usize) {
        let map = &self.map;
        let before = place - 1;
        // One by one: what was just stored in one go cannot be loaded again in another that overlaps it in part, but waits.
        for (row, [first, second, third]) in
            [(before - map.stride, self.beside), (before, self.own), (before + map.stride, self.beside)]
        {
            let three: &mut [u16; 3] = self.expected[row..].first_chunk_mut().expect("the arrays' margin");
            three[0] += first;
            three[1] += second;
            three[2] += third;
        }
        if let Some((origin, stride, weight)) = map.child {
            let (x, y) = (here.bx * BLOCK + (bit & 7) as usize, here.by * BLOCK + (bit >> 3) as usize);
            let at = origin + 2 * y * stride + 2 * x;
            for row in [at, at + stride] {
                let two: &mut [u16; 2] = self.expected[row..].first_chunk_mut().expect("the arrays' margin");
                two[0] += weight;
                two[1] += weight;
            }
        }
        if let Some((behind, weight)) = map.followers[0] {
            self.expected[place + behind] += weight;
        }
        if let Some((behind, weight)) = map.followers[1] {
            self.expected[place + behind] += weight;
        }
    }

    /// Where a coefficient of a block is in the stripe's arrays.
    #[inline(always)]
    const fn place(&self, here: Here, bit: u32) -> usize {
        here.corner + (bit >> 3) as usize * self.map.stride + (bit & 7) as usize
    }
}

/// Four numbers as the quarters of one.
#[inline(always)]
fn packed([a, b, c, d]: [u16; 4]) -> u64 {
    u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
}

/// Bit i is set if quarter i is zero.
#[inline(always)]
const fn zeros(four: u64) -> u64 {
    const LOW: u64 = 0x7FFF_7FFF_7FFF_7FFF;
    let others = (((four & LOW) + LOW) | four) >> 15 & 0x0001_0001_0001_0001;
    // Moves bits 0, 16, 32 and 48 next to each other.
    !(others.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) & 0xF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_found_in_every_quarter() {
        for pattern in 0..16_u64 {
            for value in [1, 0x7FFF, 0x8000, 0xFFFF] {
                let four = std::array::from_fn(|i| if pattern >> i & 1 == 1 { 0 } else { value });
                assert_eq!(zeros(packed(four)), pattern);
            }
        }
    }
}
