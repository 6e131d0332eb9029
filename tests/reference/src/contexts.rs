//! Section 10: contexts, each computed from its definition.

use super::layout::{band, component, other_bands, parent, sibling};
use super::slice::{Slice, positions};

/// The six kinds of `expected_magnitude` other than the subband's own neighbours.
const SIDE: usize = 0;
const ABOVE: usize = 1;
const DIAGONAL: usize = 2;
const PARENT: usize = 3;
const FROM_LUMA: usize = 4;
const FROM_U: usize = 5;

fn bin(expected: u64) -> usize {
    if expected == 0 {
        return 0;
    }
    let log = expected.ilog2() as usize;
    let fraction = if log == 0 { 0 } else { usize::from(expected >> (log - 1) & 1 == 1) };
    (1 + 2 * log + fraction).min(19)
}

impl Slice<'_> {
    /// Returns the weighted sum of the current magnitudes around a coefficient.
    pub(super) fn expected_magnitude(&self, subband: usize, x: i32, y: i32) -> u64 {
        let of = &self.subbands[subband];
        let weights: Vec<u64> = self.tables.subbands[subband].weights.iter().map(|&weight| weight.into()).collect();
        let m = |dx: i32, dy: i32| u64::from(of.magnitude(x + dx, y + dy));
        let mut sum = weights[SIDE] * (m(-1, 0) + m(1, 0));
        sum += weights[ABOVE] * (m(0, -1) + m(0, 1));
        sum += weights[DIAGONAL] * (m(-1, -1) + m(1, -1) + m(-1, 1) + m(1, 1));
        if let Some(parent) = parent(subband) {
            sum += weights[PARENT] * u64::from(self.subbands[parent].magnitude(x / 2, y / 2));
        }
        if component(subband) > 0 {
            sum += weights[FROM_LUMA] * u64::from(self.subbands[sibling(subband, 0)].magnitude(x, y));
        }
        if component(subband) == 2 {
            sum += weights[FROM_U] * u64::from(self.subbands[sibling(subband, 1)].magnitude(x, y));
        }
        sum
    }

    /// Returns `expected_magnitude` in steps of the current plane.
    pub(super) fn expected_magnitude_now(&self, subband: usize, x: i32, y: i32) -> u64 {
        self.expected_magnitude(subband, x, y) >> self.place.plane
    }

    fn b(&self, subband: usize) -> usize {
        [0, 0, 1, 2][band(subband)]
    }

    fn class(&self, subband: usize) -> usize {
        (4 * self.chroma(subband) + self.level(subband).min(4) - 1) * 3 + self.b(subband)
    }

    /// Returns `must_hold_one(B)`: the code block became non-zero in this plane and has shown no significant
    /// coefficient.
    pub(super) fn block_must_hold_one(&self, subband: usize, bx: i32, by: i32) -> bool {
        let of = &self.subbands[subband];
        let nonzero_since_plane = of.block(bx, by).is_some_and(|block| block.nonzero_since_plane);
        nonzero_since_plane && !positions(bx, by).any(|(x, y)| of.significant(x, y))
    }

    pub(super) fn significance_context(&self, subband: usize, x: i32, y: i32, f: bool) -> usize {
        let o = other_bands(subband).into_iter().filter(|&other| self.subbands[other].significant(x, y)).count();
        let own = bin(self.expected_magnitude_now(subband, x, y)) * 2 + usize::from(f);
        if component(subband) == 0 {
            return self.class(subband) * 120 + own * 3 + o;
        }
        let l = (self.subbands[sibling(subband, 0)].magnitude(x, y) >> self.place.plane).min(2) as usize;
        1440 + (self.class(subband) - 12) * 360 + own * 9 + o * 3 + l
    }

    pub(super) fn zero_run_context(&self, subband: usize, count: usize, new: bool) -> usize {
        5760 + self.class(subband) * 14 + (count - 2) * 2 + usize::from(new)
    }

    pub(super) fn refinement_context(&self, subband: usize, x: i32, y: i32) -> usize {
        let first = self.subbands[subband].magnitude(x, y) >> (self.place.plane + 1) == 1;
        let bin = (bin(self.expected_magnitude_now(subband, x, y)) / 2).saturating_sub(2);
        6096 + self.class(subband) * 16 + if first { 0 } else { 8 } + bin
    }

    /// Returns the context, and whether the symbol is inverted.
    pub(super) fn sign_context(&self, subband: usize, x: i32, y: i32) -> (usize, bool) {
        let of = &self.subbands[subband];
        let s = (of.sign(x - 1, y) + of.sign(x + 1, y)).signum();
        let v = (of.sign(x, y - 1) + of.sign(x, y + 1)).signum();
        if component(subband) == 0 {
            let k = 3 * s + v;
            return (6480 + self.b(subband) * 5 + k.unsigned_abs() as usize, k < 0);
        }
        let luma = &self.subbands[sibling(subband, 0)];
        let l = luma.sign(x, y);
        let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy))).filter(|&at| at != (x, y));
        let alike: i32 = around.map(|(x, y)| of.sign(x, y) * luma.sign(x, y)).sum();
        let k = 27 * s + 9 * v + 3 * l + l * alike.signum();
        (6495 + self.b(subband) * 41 + k.unsigned_abs() as usize, k < 0)
    }

    pub(super) fn code_block_context(&self, subband: usize, bx: i32, by: i32) -> usize {
        let of = &self.subbands[subband];
        let n = positions(bx, by).filter(|&(x, y)| of.near(x, y)).count().div_ceil(2).min(2);
        let around = [(bx - 1, by), (bx + 1, by), (bx, by - 1), (bx, by + 1)];
        let nonzero = |&&(bx, by): &&(i32, i32)| of.block(bx, by).is_some_and(|block| block.nonzero);
        let a = around.iter().filter(nonzero).count().min(3);
        let third = |count: usize, many: usize| usize::from(count >= 1) + usize::from(count >= many);
        let parent = parent(subband).map_or(0, |parent| {
            let area = (0..16).map(|at| (4 * bx + at % 4, 4 * by + at / 4));
            area.filter(|&(x, y)| self.subbands[parent].significant(x, y)).count()
        });
        let within = |other: usize| positions(bx, by).filter(|&(x, y)| self.subbands[other].significant(x, y)).count();
        let others = other_bands(subband).into_iter().map(within).sum();
        let own = ((n * 4 + a) * 3 + third(parent, 3)) * 3 + third(others, 4);
        if component(subband) == 0 { 6618 + own } else { 6726 + own * 3 + third(within(sibling(subband, 0)), 4) }
    }

    pub(super) fn subband_context(&self, subband: usize) -> usize {
        7050 + component(subband) * 7 + if band(subband) == 0 { 0 } else { self.level(subband) }
    }
}
