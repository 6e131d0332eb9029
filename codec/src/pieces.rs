//! The order of the symbols: planes from the top, in each the regions and three passes, in each of these every unit (spec,
//! "Pieces").
//!
//! One traversal serves both sides. Where a decoder runs out of bytes it stops between two symbols and goes
//! on from there when more arrive; nothing is decoded twice.

use crate::piece::Piece;
use crate::probability::SWIFT;
use crate::range::Coder;
use crate::regions;
use crate::stripe::Stripe;

/// Passes over a unit in one plane.
pub(crate) const PASSES: usize = 3;
/// Coefficients next to a significant one; these are the likely ones.
pub(crate) const NEAR: usize = 0;
/// One more bit of the significant ones.
pub(crate) const REFINE: usize = 1;
/// All others.
pub(crate) const REST: usize = 2;

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
    /// Where the coder starved inside the block, if it did.
    within: Within,
}

/// A place inside a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Within {
    /// The bit of a coefficient that was found significant and has no sign yet.
    pub(crate) unsigned: Option<u32>,
    /// The coefficients of a quiet row that holds a significant one, and whether that is still sought.
    pub(crate) row: u64,
    pub(crate) sought: bool,
}

impl Cursor {
    pub(crate) fn new(planes: u8) -> Self {
        Self { planes, pass: 0, unit: 0, bx: 0, by: 0, within: Within::default() }
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
        regions::tell(stripe, coder).ok_or(Starved)?;
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
            if cursor.planes > 0 {
                stripe.descend();
            }
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
    if !map.active {
        if cursor.pass != NEAR || map.width * map.height == 0 {
            return Ok(());
        }
        let truth = map.all >> plane != 0;
        map.active = coder.code::<SWIFT>(&mut stripe.probabilities, map.class.unit(), truth).ok_or(Starved)?;
        if !map.active {
            return Ok(());
        }
    }
    let mut piece = Piece::new(stripe, cursor.unit, plane);
    match cursor.pass {
        NEAR => blocks::<C, NEAR>(&mut piece, cursor, coder),
        REFINE => blocks::<C, REFINE>(&mut piece, cursor, coder),
        _ => blocks::<C, REST>(&mut piece, cursor, coder),
    }
}

/// All blocks of a piece from the one that `cursor` stands at. What changes with every symbol is moved to the
/// stack, where it stays in registers.
fn blocks<C: Coder, const PASS: usize>(
    piece: &mut Piece<'_>,
    cursor: &mut Cursor,
    coder: &mut C,
) -> Result<(), Starved> {
    let mut own = std::mem::take(coder);
    let mut within = std::mem::take(&mut cursor.within);
    let mut done = piece.resume(cursor.bx, cursor.by, &mut within, &mut own);
    'all: while done.is_some() && cursor.by < piece.down() {
        for bx in cursor.bx..piece.across() {
            done = piece.block::<C, PASS>(bx, cursor.by, &mut within, &mut own);
            if done.is_none() {
                cursor.bx = bx;
                break 'all;
            }
        }
        (cursor.bx, cursor.by) = (0, cursor.by + 1);
    }
    cursor.within = within;
    *coder = own;
    done.ok_or(Starved)
}
