//! The regions of a stripe, each with the rotation of its coefficients (spec, "Regions").

use crate::block::BLOCK;
use crate::contexts::{self, CONTEXTS};
use crate::layout::{self, Unit};
use crate::picture::Channels;
use crate::probability::{Probability, SWIFT};
use crate::range::Coder;
use crate::rotation::{ANGLE_BITS, Matrix, RANGE, Rotation, transposed};
use crate::stripe::Stripe;

/// Side of a region in pixels.
pub(crate) const SIDE: usize = 32;
/// The coarsest level of which a region has coefficients of its own: one.
const COARSEST: usize = 5;
/// Rotations of a stripe at most, with the one that does nothing.
pub(crate) const MOST: usize = 8;
/// Bits of a rotation's number.
const NUMBER_BITS: u32 = 3;

/// A stripe's regions, row by row; a grey picture has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Regions {
    across: usize,
    /// By number, in the order in which they were told; the first does nothing.
    rotations: Vec<Rotation>,
    /// The number of each region's rotation, once it was told.
    told: Vec<Option<u8>>,
    /// An encoder's knowledge: each region's rotation. Empty in a decoder.
    truth: Vec<Rotation>,
    matrices: Vec<Matrix>,
    /// The region that is asked next in the current plane.
    next: usize,
    /// Its symbols that came before the coder starved.
    known: Symbols,
}

/// A few symbols that are read again.
#[derive(Debug, Clone, Copy, Default)]
struct Symbols {
    bits: u32,
    count: u32,
}

/// Whether the unit is one whose coefficients are rotated; the low ones are not, being of the last level.
pub(crate) const fn rotates(unit: Unit) -> bool {
    unit.level <= COARSEST
}

impl Regions {
    pub(crate) fn new(channels: Channels, width: usize, rows: usize) -> Self {
        let (across, down) = match channels {
            Channels::Grey => (0, 0),
            Channels::Rgb => (width.div_ceil(SIDE), rows.div_ceil(SIDE)),
        };
        Self { across, rotations: vec![Rotation::default()], told: vec![None; across * down], ..Self::default() }
    }

    /// Makes an encoder know each region's rotation.
    pub(crate) fn decide(&mut self, truth: Vec<Rotation>) {
        self.matrices = truth.iter().map(|rotation| rotation.matrix()).collect();
        self.truth = truth;
    }

    /// Another plane begins.
    pub(crate) const fn descend(&mut self) {
        self.next = 0;
    }

    /// What is told of a region; nothing is as good as the rotation that does nothing.
    fn number(&self, region: usize) -> usize {
        self.told[region].map_or(0, usize::from)
    }

    /// Codes the rotation of one region, with those of its neighbours as the context; `None` if the coder starved, from
    /// where the next call goes on.
    fn code<C: Coder>(&mut self, region: usize, probabilities: &mut [Probability], coder: &mut C) -> Option<()> {
        let first = region.is_multiple_of(self.across);
        let number = |before: Option<usize>| before.map_or(0, |before| self.number(before));
        let left = number(region.checked_sub(1).filter(|_| !first));
        let above = number(region.checked_sub(self.across));
        let between = number(region.checked_sub(self.across + 1).filter(|_| !first));
        let truth = self.truth.get(region).copied().unwrap_or_default();
        let Self { rotations, known, .. } = self;
        let mut read = 0;
        let mut code = |context: usize, bit: bool| {
            if read == known.count {
                let bit = coder.code::<SWIFT>(probabilities, context, bit)?;
                known.bits |= u32::from(bit) << read;
                known.count += 1;
            }
            read += 1;
            Some(known.bits >> (read - 1) & 1 != 0)
        };
        let is = |number: usize| C::WRITES && rotations[number] == truth;
        let number = if code(contexts::like_left(left, above, between), is(left))? {
            left
        } else if left != above && code(contexts::like_above(left, above, between), is(above))? {
            above
        } else {
            let count = rotations.len();
            let found = rotations.iter().position(|rotation| *rotation == truth);
            if count < MOST && code(contexts::new_rotation(count), found.is_none())? {
                let mut angles = [0; 3];
                for (axis, (angle, truth)) in angles.iter_mut().zip(truth.angles).enumerate() {
                    let bits = (truth + RANGE).cast_unsigned();
                    let bits = tree(ANGLE_BITS, bits, |node, bit| code(contexts::angle(axis, node), bit))?;
                    *angle = bits.cast_signed() - RANGE;
                }
                rotations.push(Rotation { angles });
                count
            } else {
                let [low, ..] = found.unwrap_or(0).to_le_bytes();
                let number = tree(NUMBER_BITS, low, |node, bit| code(contexts::rotation(node), bit))?;
                if usize::from(number) < count { usize::from(number) } else { 0 }
            }
        };
        *known = Symbols::default();
        let [low, ..] = number.to_le_bytes();
        self.told[region] = Some(low);
        Some(())
    }

    /// An encoder's knowledge: whether any region's rotation does something.
    pub(crate) fn rotated(&self) -> bool {
        self.truth.iter().any(|rotation| *rotation != Rotation::default())
    }

    /// Whether no region was told to have a rotation that does something.
    fn all_default(&self) -> bool {
        self.told
            .iter()
            .all(|number| number.is_none_or(|number| self.rotations[usize::from(number)] == Rotation::default()))
    }

    /// Makes, of a unit's row in all components, what a component has there after each region's rotation.
    pub(crate) fn rotate(&self, unit: Unit, y: usize, from: [&[f32]; 3], out: &mut [f32]) {
        let side = SIDE >> unit.level;
        let own = &self.matrices[y / side * self.across..];
        let [luma, u, v] = from.map(|row| row.chunks(side));
        for ((((out, luma), u), v), matrix) in out.chunks_mut(side).zip(luma).zip(u).zip(v).zip(own) {
            let [a, b, c] = matrix[unit.component];
            for (((out, luma), u), v) in out.iter_mut().zip(luma).zip(u).zip(v) {
                *out = a * luma + b * u + c * v;
            }
        }
    }

    /// Undoes the rotations that were told in a stripe's rows of all units.
    pub(crate) fn undo(&self, widths: impl Fn(usize) -> usize, units: &mut [&mut [f32]]) {
        if self.all_default() {
            return;
        }
        let matrices: Vec<_> = self.rotations.iter().map(|rotation| transposed(&rotation.matrix())).collect();
        for index in 3..units.len() {
            let unit = Unit::at(index);
            if unit.component > 0 || !rotates(unit) {
                continue;
            }
            let (side, width) = (SIDE >> unit.level, widths(index).max(1));
            let Ok(bands) = units.get_disjoint_mut([0, 1, 2].map(|other| layout::sibling(index, other))) else {
                continue;
            };
            let [luma, u, v] = bands.map(|band| band.chunks_mut(width));
            for (y, ((luma, u), v)) in luma.zip(u).zip(v).enumerate() {
                let own = &self.told[y / side * self.across..];
                let parts = luma.chunks_mut(side).zip(u.chunks_mut(side)).zip(v.chunks_mut(side));
                for (((luma, u), v), number) in parts.zip(own) {
                    let Some(number @ 1..) = *number else { continue };
                    // Memory that was never written to is not taken either.
                    if [&*luma, &*u, &*v].iter().all(|part| part.iter().all(|value| *value == 0.0)) {
                        continue;
                    }
                    let [to_luma, to_u, to_v] = matrices[usize::from(number)];
                    for ((luma, u), v) in luma.iter_mut().zip(u).zip(v) {
                        let from = [*luma, *u, *v];
                        let [new_luma, new_u, new_v] = [to_luma, to_u, to_v].map(|row| dot(row, from));
                        (*luma, *u, *v) = (new_luma, new_u, new_v);
                    }
                }
            }
        }
    }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Codes `count` bits of a number, the highest first, each told the ones before it as the node of a tree: 1 at its root.
fn tree(count: u32, number: u8, mut code: impl FnMut(usize, bool) -> Option<bool>) -> Option<u8> {
    let mut node = 1_u8;
    for bit in (0..count).rev() {
        node = node << 1 | u8::from(code(usize::from(node), number >> bit & 1 != 0)?);
    }
    Some(node - (1 << count))
}

/// At the start of a plane: codes the rotation of every region that shows a significant coefficient and has none yet.
pub(crate) fn tell<C: Coder>(stripe: &mut Stripe, coder: &mut C) -> Option<()> {
    while stripe.regions.next < stripe.regions.told.len() {
        let region = stripe.regions.next;
        if stripe.regions.told[region].is_none() && shows(stripe, region) {
            stripe.regions.code(region, &mut stripe.probabilities, coder)?;
        }
        stripe.regions.next += 1;
    }
    Some(())
}

/// Whether a region has a significant coefficient that a rotation turns.
fn shows(stripe: &Stripe, region: usize) -> bool {
    let (x, y) = (region % stripe.regions.across, region / stripe.regions.across);
    stripe.units.iter().any(|map| {
        let unit = Unit::at(map.index);
        if !map.active || !rotates(unit) {
            return false;
        }
        let side = SIDE >> unit.level;
        let (left, top) = (x * side, y * side);
        // As many columns and rows of a block, or of each of several blocks.
        let (inside, blocks) = (side.min(BLOCK), side.div_ceil(BLOCK));
        let row = 0xFF_u64 >> (BLOCK - inside);
        let square = (0..inside).fold(0, |square, line| square | row << (BLOCK * line));
        let mask = square << (top % BLOCK * BLOCK + left % BLOCK);
        let (bx, by) = (left / BLOCK, top / BLOCK);
        let across = bx..(bx + blocks).min(map.grid.across);
        let mut down = by..(by + blocks).min(map.grid.down);
        down.any(|by| across.clone().any(|bx| stripe.blocks[map.grid.at(bx, by)].significant & mask != 0))
    })
}

const _: () = assert!(contexts::angle(2, (1 << ANGLE_BITS) - 1) == CONTEXTS - 1);
