//! The order of the symbols: planes from the top, in each three passes, in each every unit (spec, "Pieces").
//!
//! One traversal serves both sides. Where a decoder runs out of bytes it stops between two symbols and goes
//! on from there when more arrive; nothing is decoded twice.

use crate::range::Coder;
use crate::stripe::{NEGATIVE, Stripe};

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
    pub(crate) planes: u32,
    pub(crate) pass: usize,
    /// Position among the stripe's units.
    pub(crate) unit: usize,
    pub(crate) block: usize,
    /// The bit of a coefficient that was found significant and has no sign yet.
    unsigned: Option<u32>,
}

impl Cursor {
    pub(crate) const fn new(planes: u32) -> Self {
        Self { planes, pass: 0, unit: 0, block: 0, unsigned: None }
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
        cursor.block = 0;
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

/// One unit in one pass of one plane, from `cursor.block` on.
fn piece<C: Coder>(stripe: &mut Stripe, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
    let plane = cursor.planes - 1;
    let (unit, pass) = (cursor.unit, cursor.pass);
    if !stripe.units[unit].active {
        if pass != NEAR || stripe.units[unit].width * stripe.units[unit].height == 0 {
            return Ok(());
        }
        let probability = &mut stripe.probabilities[stripe.units[unit].class.unit()];
        let bit = coder.code(probability, stripe.units[unit].all >> plane != 0).ok_or(Starved)?;
        stripe.units[unit].active = bit;
        if !bit {
            return Ok(());
        }
    }
    let blocks = stripe.units[unit].across * stripe.units[unit].down;
    while cursor.block < blocks {
        if let Some(bit) = cursor.unsigned {
            sign(stripe, unit, cursor.block, bit, plane, coder)?;
            cursor.unsigned = None;
        }
        let at = stripe.units[unit].block_at(cursor.block);
        match pass {
            NEAR => {
                if stripe.blocks[at].near != 0 {
                    activate(stripe, unit, cursor.block, plane, coder)?;
                }
                if stripe.blocks[at].active {
                    significance(stripe, cursor, plane, coder, |block| block.near & block.valid)?;
                }
            }
            REFINE => refine(stripe, unit, cursor.block, plane, coder)?,
            _ => {
                activate(stripe, unit, cursor.block, plane, coder)?;
                if stripe.blocks[at].active {
                    significance(stripe, cursor, plane, coder, |block| block.valid)?;
                }
                let block = &mut stripe.blocks[at];
                block.visited = 0;
                block.fresh = false;
                block.decided = false;
                block.plane = plane as u8;
            }
        }
        cursor.block += 1;
    }
    Ok(())
}

/// Codes whether an empty block stays empty, once a plane.
fn activate<C: Coder>(stripe: &mut Stripe, unit: usize, index: usize, plane: u32, coder: &mut C) -> Result<(), Starved> {
    let map = &stripe.units[unit];
    let at = map.block_at(index);
    let block = stripe.blocks[at];
    if block.active || block.decided {
        return Ok(());
    }
    let around = [at - 1, at + 1, at - map.block_stride, at + map.block_stride];
    let active = around.iter().filter(|&&other| stripe.blocks[other].active).count();
    let (bx, by) = (index % map.across, index / map.across);
    let parent = map.parent.is_some_and(|parent| {
        let parent = &stripe.units[parent];
        let (px, py) = (bx / 2, by / 2);
        let quarter = 0x0F0F_0F0F_u64 << (4 * (bx & 1) + 32 * (by & 1));
        px < parent.across
            && py < parent.down
            && stripe.blocks[parent.block_origin + py * parent.block_stride + px].significant & quarter != 0
    });
    let luma = map.luma.is_some_and(|luma| stripe.blocks[stripe.units[luma].block_at(index)].active);
    let context = map.class.block(block.near.count_ones(), active, parent, luma);
    let bit = coder.code(&mut stripe.probabilities[context], block.all >> plane != 0).ok_or(Starved)?;
    let block = &mut stripe.blocks[at];
    block.decided = true;
    block.active = bit;
    block.fresh = bit;
    block.plane = plane as u8 + 1;
    Ok(())
}

/// Codes which of the block's candidates become significant, and their signs.
fn significance<C: Coder>(
    stripe: &mut Stripe,
    cursor: &mut Cursor,
    plane: u32,
    coder: &mut C,
    candidates: impl Fn(&crate::stripe::Block) -> u64,
) -> Result<(), Starved> {
    let (unit, index) = (cursor.unit, cursor.block);
    let map = &stripe.units[unit];
    let (class, stride, at) = (map.class, map.stride, map.block_at(index));
    let (x, y) = map.place(index, 0);
    let corner = map.origin + y * stride + x;
    loop {
        let block = &mut stripe.blocks[at];
        let left = candidates(block) & !(block.significant | block.visited);
        if left == 0 {
            return Ok(());
        }
        let bit = left.trailing_zeros();
        let place = corner + (bit >> 3) as usize * stride + (bit & 7) as usize;
        let fresh = block.fresh && block.significant == 0;
        let context = class.significance(stripe.expected[place] >> plane, fresh);
        let truth = (stripe.levels[place] & !NEGATIVE) >> plane != 0;
        let one = coder.code(&mut stripe.probabilities[context], truth).ok_or(Starved)?;
        block.visited |= 1 << bit;
        if one {
            cursor.unsigned = Some(bit);
            sign(stripe, unit, index, bit, plane, coder)?;
            cursor.unsigned = None;
        }
    }
}

/// Codes the sign of a coefficient that just became significant, and lets its surroundings know.
fn sign<C: Coder>(
    stripe: &mut Stripe,
    unit: usize,
    block: usize,
    bit: u32,
    plane: u32,
    coder: &mut C,
) -> Result<(), Starved> {
    let map = &stripe.units[unit];
    let (x, y) = map.place(block, bit);
    let place = map.origin + y * map.stride + x;
    let signs = &stripe.signs;
    let luma = map.luma.map_or(0, |luma| {
        let luma = &stripe.units[luma];
        signs[luma.origin + y * luma.stride + x]
    });
    let side = signs[place - 1] + signs[place + 1];
    let above = signs[place - map.stride] + signs[place + map.stride];
    let context = map.class.sign(side, above, luma);
    let truth = stripe.levels[place] & NEGATIVE != 0;
    let negative = coder.code(&mut stripe.probabilities[context], truth).ok_or(Starved)?;
    stripe.signs[place] = if negative { -1 } else { 1 };
    stripe.levels[place] |= (1 << plane) | if negative { NEGATIVE } else { 0 };
    stripe.mark_significant(unit, block, bit);
    stripe.spread(unit, x, y, 1 << plane);
    Ok(())
}

/// Codes one more bit of every coefficient that was significant before this plane.
fn refine<C: Coder>(stripe: &mut Stripe, unit: usize, index: usize, plane: u32, coder: &mut C) -> Result<(), Starved> {
    let map = &stripe.units[unit];
    let (class, stride, at) = (map.class, map.stride, map.block_at(index));
    let (x, y) = map.place(index, 0);
    let corner = map.origin + y * stride + x;
    loop {
        let block = &mut stripe.blocks[at];
        let left = block.significant & !block.visited;
        if left == 0 {
            return Ok(());
        }
        let bit = left.trailing_zeros();
        let (dx, dy) = ((bit & 7) as usize, (bit >> 3) as usize);
        let place = corner + dy * stride + dx;
        let known = (stripe.levels[place] & !NEGATIVE) >> (plane + 1);
        let context = class.refinement(stripe.expected[place] >> plane, known == 1);
        let truth = (stripe.levels[place] >> plane) & 1 != 0;
        let one = coder.code(&mut stripe.probabilities[context], truth).ok_or(Starved)?;
        block.visited |= 1 << bit;
        if one {
            stripe.levels[place] |= 1 << plane;
            stripe.spread(unit, x + dx, y + dy, 1 << plane);
        }
    }
}
