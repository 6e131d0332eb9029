//! The order of the symbols: planes from the top; in each plane the regions' rotations and three passes; in each pass
//! every subband (spec, "Coding passes").
//!
//! One traversal serves both sides. A decoder that runs out of bytes stops between two symbols and goes on from there
//! when more bytes arrive; it decodes nothing twice.
//!
//! Prior art: planes from the top in several passes each, so that every cut is near a truncation point of EBCOT
//! (Taubman, 2000, section II). The order is fixed, as in the progression by quality of JPEG 2000; EBCOT's tier 2
//! chooses an order for every stream.

use crate::bitplane::neighbourhood::CodingPass;
use crate::bitplane::passes::{CLEANUP_PASS, PASSES_PER_PLANE, REFINEMENT_PASS, SIGNIFICANCE_PASS, Within};
use crate::bitplane::slice::Slice;
use crate::entropy::probability::RATE_1_IN_16;
use crate::entropy::range_coder::Coder;
use crate::simd::widest;
use crate::subband::quantise::MAX_PLANES;

/// The next symbol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    /// Planes not yet finished, those below the finest step included; the current one is `planes - 1`.
    pub(crate) planes: u8,
    /// The pass of the current plane, 0..3.
    pass: usize,
    /// Position among the slice's subbands.
    subband: usize,
    /// Column and row of the code block.
    bx: usize,
    by: usize,
    /// The place inside the code block at which the coder starved, if it did.
    within: Within,
}

impl Cursor {
    pub(crate) fn new(planes: u8) -> Self {
        Self { planes, ..Self::default() }
    }

    /// The completed coding passes of the current plane, with the completed part of the current pass, as a numerator
    /// and a denominator (spec, "Position").
    pub(crate) fn passes_done(&self, slice: &Slice) -> [u64; 2] {
        let grid = slice.subbands[self.subband].grid;
        let blocks = (grid.across * grid.down).max(1);
        let passes = self.pass * slice.subbands.len() + self.subband;
        [passes * blocks + self.by * grid.across + self.bx, blocks].map(|count| count as u64)
    }
}

/// The bytes at hand determine no further symbol.
pub(crate) struct Starved;

/// Codes coding passes from `cursor` on, until the last or until the coder starves. After each, `pass_done` gets the
/// coder's position and returns whether to go on.
pub(crate) fn run<C: Coder>(
    slice: &mut Slice,
    cursor: &mut Cursor,
    coder: &mut C,
    mut pass_done: impl FnMut(usize) -> bool,
) -> Result<(), Starved> {
    slice.expects |= C::USES_CONTEXTS;
    while cursor.planes > 0 {
        slice.code_rotations(coder).ok_or(Starved)?;
        coding_pass(slice, cursor, coder)?;
        cursor.by = 0;
        cursor.subband += 1;
        if cursor.subband == slice.subbands.len() {
            cursor.subband = 0;
            cursor.pass += 1;
        }
        if cursor.pass == PASSES_PER_PLANE {
            cursor.pass = 0;
            cursor.planes -= 1;
            if cursor.planes > 0 {
                slice.descend();
            }
        }
        if !pass_done(coder.position()) {
            return Ok(());
        }
    }
    Ok(())
}

/// Codes one subband in one pass of one plane, from the code block at `cursor` on.
fn coding_pass<C: Coder>(slice: &mut Slice, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
    let map = &mut slice.subbands[cursor.subband];
    let plane = (cursor.planes - 1).wrapping_sub(map.last_plane);
    if plane >= MAX_PLANES {
        return Ok(());
    }
    if !map.nonzero {
        if cursor.pass != SIGNIFICANCE_PASS || map.width * map.height == 0 {
            return Ok(());
        }
        let context = map.class.subband();
        let source = map.all >> plane != 0;
        map.nonzero = coder.code::<RATE_1_IN_16>(&mut slice.probabilities, context, source).ok_or(Starved)?;
        if !map.nonzero {
            return Ok(());
        }
    }
    if cursor.within.lacks_sign() {
        resume(slice, plane, cursor, coder)?;
    }
    match cursor.pass {
        SIGNIFICANCE_PASS => widest!(code_blocks::<C, SIGNIFICANCE_PASS>(slice, plane, cursor, coder)),
        REFINEMENT_PASS => widest!(code_blocks::<C, REFINEMENT_PASS>(slice, plane, cursor, coder)),
        _ => widest!(code_blocks::<C, CLEANUP_PASS>(slice, plane, cursor, coder)),
    }
}

/// Codes the sign on which the coder starved. A function of its own, so that its code is not in every pass.
#[cold]
#[inline(never)]
fn resume<C: Coder>(slice: &mut Slice, plane: u8, cursor: &mut Cursor, coder: &mut C) -> Result<(), Starved> {
    let mut pass = CodingPass::new(slice, cursor.subband, plane);
    pass.resume(cursor.bx, cursor.by, &mut cursor.within, coder).ok_or(Starved)
}

/// Codes all code blocks of a coding pass from the one at `cursor` on, in this plane of the subband. The data for every
/// symbol are on the stack, so that they stay in registers.
#[inline(always)]
fn code_blocks<C: Coder, const PASS: usize>(
    slice: &mut Slice,
    plane: u8,
    cursor: &mut Cursor,
    coder: &mut C,
) -> Result<(), Starved> {
    let mut pass = CodingPass::new(slice, cursor.subband, plane);
    let mut own = std::mem::take(coder);
    let mut within = std::mem::take(&mut cursor.within);
    let mut done = Some(());
    'all: while done.is_some() && cursor.by < pass.down() {
        for bx in cursor.bx..pass.across() {
            done = pass.code_block::<C, PASS>(bx, cursor.by, &mut within, &mut own);
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
