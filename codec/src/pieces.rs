//! The order of the symbols: planes from the top, in each three passes, in each every unit (spec, "Pieces").
//!
//! One traversal serves both sides. Where a decoder runs out of bytes it stops between two symbols and goes
//! on from there when more arrive; nothing is decoded twice.

use crate::range::Coder;
use crate::stripe::{BLOCK, Block, Known, NEGATIVE, Stripe, UnitMap};

/// Passes over a unit in one plane.
pub(crate) const PASSES: usize = 3;
/// Coefficients next to a significant one; these are the likely ones.
const NEAR: usize = 0;
/// One more bit of the significant ones.
const REFINE: usize = 1;

/// The next symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// Planes not yet finished; the current one is `planes - 1`.
    pub(crate) planes: u8,
    pub(crate) pass: usize,
    /// Position among the stripe's units.
    pub(crate) unit: usize,
    /// Block column and row.
    pub(crate) bx: usize,
    pub(crate) by: usize,
    /// The bit of a coefficient that was found significant and has no sign yet.
    unsigned: Option<u32>,
    /// The coefficients of a quiet row that holds a significant one, and whether that is still sought.
    row: u64,
    sought: bool,
}

impl Cursor {
    pub(crate) const fn new(planes: u8) -> Self {
        Self { planes, pass: 0, unit: 0, bx: 0, by: 0, unsigned: None, row: 0, sought: false }
    }
}

/// The bytes at hand determine no further symbol.
pub(crate) struct Starved;

/// Codes pieces from `cursor` on until the last or until the coder starves. `piece_done` is told the coder's
/// position after every piece and answers whether to go on.
pub(crate) fn run<C: Coder>(
    stripe: &mut Stripe,
    cursor: &mut Cursor,
    coder: &mut C,
    mut piece_done: impl FnMut(usize) -> bool,
) -> Result<(), Starved> {
    while cursor.planes > 0 {
        piece(stripe, cursor, coder)?;
        cursor.by = 0;
        cursor.unit += 1;
        if cursor.unit == stripe.units.len() {
            cursor.unit = 0;
            cursor.pass += 1;
        }
        if cursor.pass == PASSES {
            cursor.pass = 0;
            cursor.planes -= 1;
        }
        if !piece_done(coder.position()) {
            return Ok(());
        }
    }
    Ok(())
}

/// One unit in one pass of one plane, from the block that `cursor` stands at.
fn piece<C: Coder>(stripe: &mut Stripe, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
    let plane = cursor.planes - 1;
    let map = &mut stripe.units[cursor.unit];
    let known = &mut stripe.known;
    if !map.active {
        if cursor.pass != NEAR || map.width * map.height == 0 {
            return Ok(());
        }
        let truth = map.all >> plane != 0;
        map.active = coder.code(&mut known.probabilities, map.class.unit(), truth).ok_or(Starved)?;
        if !map.active {
            return Ok(());
        }
    }
    while cursor.by < map.grid.down {
        while cursor.bx < map.grid.across {
            block(&Here::new(map, cursor, plane), known, cursor, coder)?;
            cursor.bx += 1;
        }
        cursor.bx = 0;
        cursor.by += 1;
    }
    Ok(())
}

/// One block in one pass of one plane, from the symbol that `cursor` stands at.
#[inline]
fn block<C: Coder>(here: &Here<'_>, known: &mut Known, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
    if let Some(bit) = cursor.unsigned {
        here.sign(known, bit, coder)?;
        cursor.unsigned = None;
    }
    let block = &known.blocks[here.at];
    match cursor.pass {
        NEAR => {
            if block.near != 0 {
                here.activate(known, coder)?;
                if known.blocks[here.at].active {
                    held(coder, |coder| here.likely(known, cursor, coder))?;
                }
            }
        }
        REFINE => {
            if block.active {
                held(coder, |coder| here.refine(known, coder))?;
            }
        }
        _ => {
            here.activate(known, coder)?;
            let block = &mut known.blocks[here.at];
            if block.active {
                held(coder, |coder| here.unlikely(known, cursor, coder))?;
                cursor.row = 0;
            }
            known.blocks[here.at].finish_plane(here.plane);
        }
    }
    Ok(())
}

/// Runs `work` on a coder that lives on the stack, where its state stays in registers.
#[inline(always)]
fn held<C: Coder, R>(coder: &mut C, work: impl FnOnce(&mut C) -> R) -> R {
    let mut own = std::mem::take(coder);
    let result = work(&mut own);
    *coder = own;
    result
}

/// The block that is being coded.
struct Here<'a> {
    map: &'a UnitMap,
    plane: u8,
    /// Block column and row.
    bx: usize,
    by: usize,
    /// Where the block is in the stripe's blocks, and its first coefficient in the other arrays.
    at: usize,
    corner: usize,
}

impl<'a> Here<'a> {
    #[inline]
    fn new(map: &'a UnitMap, cursor: &Cursor, plane: u8) -> Self {
        let Cursor { bx, by, .. } = *cursor;
        let corner = map.origin + by * BLOCK * map.stride + bx * BLOCK;
        Self { map, plane, bx, by, at: map.grid.at(bx, by), corner }
    }

    /// Where a coefficient of the block is in the stripe's arrays.
    #[inline]
    const fn place(&self, bit: u32) -> usize {
        self.corner + (bit >> 3) as usize * self.map.stride + (bit & 7) as usize
    }

    /// A coefficient's column and row in its unit.
    #[inline]
    const fn column_row(&self, bit: u32) -> (usize, usize) {
        (self.bx * BLOCK + (bit & 7) as usize, self.by * BLOCK + (bit >> 3) as usize)
    }

    /// Codes whether an empty block stays empty, once a plane.
    fn activate<C: Coder>(&self, known: &mut Known, coder: &mut C) -> Result<(), Starved> {
        let (map, plane, at) = (self.map, self.plane, self.at);
        let block = known.blocks[at];
        if block.active || block.decided {
            return Ok(());
        }
        let around = [at - 1, at + 1, at - map.grid.stride, at + map.grid.stride];
        let active = around.iter().filter(|&&other| known.blocks[other].active).count();
        let parent = map.parent.is_some_and(|parent| {
            let (px, py) = (self.bx / 2, self.by / 2);
            let quarter = 0x0F0F_0F0F_u64 << (4 * (self.bx & 1) + 32 * (self.by & 1));
            px < parent.across && py < parent.down && known.blocks[parent.at(px, py)].significant & quarter != 0
        });
        let luma = map.luma.is_some_and(|(_, grid)| known.blocks[grid.at(self.bx, self.by)].active);
        let context = map.class.block(block.near.count_ones(), active, parent, luma);
        let bit = coder.code(&mut known.probabilities, context, block.all >> plane != 0).ok_or(Starved)?;
        let block = &mut known.blocks[at];
        block.decided = true;
        block.active = bit;
        block.fresh = bit;
        block.plane = plane + 1;
        Ok(())
    }

    /// Codes which coefficients next to a significant one become so too; each draws its neighbours in.
    #[inline(always)]
    fn likely<C: Coder>(&self, known: &mut Known, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
        let candidates = |block: &Block| block.near & block.valid & !(block.significant | block.visited);
        let block = &known.blocks[self.at];
        let mut left = candidates(block);
        let mut sought = block.fresh && block.significant == 0;
        while left != 0 {
            let bit = left.trailing_zeros();
            if self.significance(known, cursor, coder, bit, (sought, false))? {
                sought = false;
                left = candidates(&known.blocks[self.at]);
            } else {
                left &= left - 1;
            }
        }
        Ok(())
    }

    /// Codes which of the other coefficients become significant. Around most of them nothing is known; a
    /// row of such is coded as one while it stays zero, for speed.
    #[inline(always)]
    fn unlikely<C: Coder>(&self, known: &mut Known, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
        let block = &known.blocks[self.at];
        let mut left = block.valid & !(block.significant | block.visited);
        let mut fresh = block.fresh && block.significant == 0;
        while left != 0 {
            let found = left & cursor.row;
            if found == 0 {
                let row = self.quiet(known, left);
                let count = row.count_ones();
                if count > 1 {
                    let context = self.map.class.quiet(count, fresh);
                    let truth = C::WRITES && self.any(known, row);
                    if coder.code(&mut known.probabilities, context, truth).ok_or(Starved)? {
                        (cursor.row, cursor.sought) = (row, true);
                    } else {
                        known.blocks[self.at].visited |= row;
                        left &= !row;
                    }
                    continue;
                }
            }
            let (bit, sought) =
                if found == 0 { (left.trailing_zeros(), fresh) } else { (found.trailing_zeros(), cursor.sought) };
            // The last one of a row that holds one is that one.
            let certain = cursor.sought && found == 1 << bit;
            fresh &= !self.significance(known, cursor, coder, bit, (sought, certain))?;
            left &= !(1 << bit);
        }
        Ok(())
    }

    /// If nothing is known around the first coefficient left: those left in its row of which that is true.
    #[inline]
    fn quiet(&self, known: &Known, left: u64) -> u64 {
        let first = left.trailing_zeros();
        if known.expected(self.place(first)) >> self.plane != 0 {
            return 0;
        }
        let start = first & !7;
        let row = known.expected_row(self.place(start));
        let quiet = row.iter().rev().fold(0, |mask, &expected| mask << 1 | u64::from(expected >> self.plane == 0));
        left & quiet << start
    }

    /// An encoder's knowledge: whether any of these coefficients is significant in this plane.
    #[inline]
    fn any(&self, known: &Known, mut mask: u64) -> bool {
        let mut all = 0;
        while mask != 0 {
            all |= known.levels[self.place(mask.trailing_zeros())];
            mask &= mask - 1;
        }
        (all & !NEGATIVE) >> self.plane != 0
    }

    /// Codes whether one coefficient becomes significant, unless that is certain, and its sign if it does.
    #[inline(always)]
    fn significance<C: Coder>(
        &self,
        known: &mut Known,
        cursor: &mut Cursor,
        coder: &mut C,
        bit: u32,
        (sought, certain): (bool, bool),
    ) -> Result<bool, Starved> {
        let place = self.place(bit);
        let one = certain || {
            let context = self.map.class.significance(known.expected(place) >> self.plane, sought);
            let truth = C::WRITES && (known.levels[place] & !NEGATIVE) >> self.plane != 0;
            coder.code(&mut known.probabilities, context, truth).ok_or(Starved)?
        };
        known.blocks[self.at].visited |= 1 << bit;
        if one {
            cursor.sought = false;
            cursor.unsigned = Some(bit);
            self.sign(known, bit, coder)?;
            cursor.unsigned = None;
        }
        Ok(one)
    }

    /// Codes the sign of a coefficient that just became significant, and lets its surroundings know.
    #[inline(always)]
    fn sign<C: Coder>(&self, known: &mut Known, bit: u32, coder: &mut C) -> Result<(), Starved> {
        let (map, place) = (self.map, self.place(bit));
        let luma = map.luma.map_or(0, |(origin, _)| known.signs[origin + (place - map.origin)]);
        let side = known.signs[place - 1] + known.signs[place + 1];
        let above = known.signs[place - map.stride] + known.signs[place + map.stride];
        let context = map.class.sign(side, above, luma);
        let truth = C::WRITES && known.levels[place] & NEGATIVE != 0;
        let negative = coder.code(&mut known.probabilities, context, truth).ok_or(Starved)?;
        known.signs[place] = 1 - 2 * i8::from(negative);
        known.levels[place] |= 1 << self.plane | u16::from(negative) << 15;
        known.mark_significant(&map.grid, self.at, bit);
        let (x, y) = self.column_row(bit);
        known.spread(map, x, y, 1 << self.plane);
        Ok(())
    }

    /// Codes one more bit of every coefficient that was significant before this plane.
    #[inline(always)]
    fn refine<C: Coder>(&self, known: &mut Known, coder: &mut C) -> Result<(), Starved> {
        let plane = self.plane;
        let block = &known.blocks[self.at];
        let mut left = block.significant & !block.visited;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let place = self.place(bit);
            let first = (known.levels[place] & !NEGATIVE) >> (plane + 1) == 1;
            let context = self.map.class.refinement(known.expected(place) >> plane, first);
            let truth = (known.levels[place] >> plane) & 1 != 0;
            let one = coder.code(&mut known.probabilities, context, truth).ok_or(Starved)?;
            known.blocks[self.at].visited |= 1 << bit;
            if one {
                known.levels[place] |= 1 << plane;
                let (x, y) = self.column_row(bit);
                known.spread(self.map, x, y, 1 << plane);
            }
        }
        Ok(())
    }
}
