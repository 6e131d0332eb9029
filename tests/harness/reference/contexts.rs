//! Section 10: contexts, each gathered from what it depends on.

use super::layout::{band, component, parent, sibling};
use super::stripe::{Stripe, positions};

/// The five kinds of `expected` beside the unit's own neighbours.
const SIDE: usize = 0;
const ABOVE: usize = 1;
const DIAGONAL: usize = 2;
const PARENT: usize = 3;
const FROM_LUMA: usize = 4;
const FROM_U: usize = 5;

fn bin(expected: u32) -> usize {
    if expected == 0 {
        return 0;
    }
    let log = expected.ilog2() as usize;
    let fraction = if log == 0 { 0 } else { (expected >> (log - 1)) as usize & 1 };
    (1 + 2 * log + fraction).min(19)
}

impl Stripe<'_> {
    /// What was spread to a coefficient is the weighted sum of the magnitudes around it, as they are now.
    pub(super) fn expected(&self, unit: usize, x: i32, y: i32) -> u32 {
        let of = &self.units[unit];
        let weights = &self.tables.units[unit].weights;
        let m = |dx: i32, dy: i32| of.magnitude(x + dx, y + dy);
        let mut sum = weights[SIDE] * (m(-1, 0) + m(1, 0));
        sum += weights[ABOVE] * (m(0, -1) + m(0, 1));
        sum += weights[DIAGONAL] * (m(-1, -1) + m(1, -1) + m(-1, 1) + m(1, 1));
        if let Some(parent) = parent(unit) {
            sum += weights[PARENT] * self.units[parent].magnitude(x / 2, y / 2);
        }
        if component(unit) > 0 {
            sum += weights[FROM_LUMA] * self.units[sibling(unit, 0)].magnitude(x, y);
        }
        if component(unit) == 2 {
            sum += weights[FROM_U] * self.units[sibling(unit, 1)].magnitude(x, y);
        }
        sum
    }

    /// `expected` in steps of the current plane.
    pub(super) fn expected_now(&self, unit: usize, x: i32, y: i32) -> u32 {
        self.expected(unit, x, y) >> self.place.plane
    }

    fn b(&self, unit: usize) -> usize {
        [0, 0, 1, 2][band(unit)]
    }

    fn class(&self, unit: usize) -> usize {
        (4 * self.chroma(unit) + self.level(unit).min(4) - 1) * 3 + self.b(unit)
    }

    /// `new(B)`: the block became active in this plane and has shown no significant coefficient.
    pub(super) fn new_block(&self, unit: usize, bx: i32, by: i32) -> bool {
        let of = &self.units[unit];
        let fresh = of.block(bx, by).is_some_and(|block| block.fresh);
        fresh && !positions(bx, by).any(|(x, y)| of.significant(x, y))
    }

    pub(super) fn significance_context(&self, unit: usize, x: i32, y: i32, f: bool) -> usize {
        self.class(unit) * 40 + bin(self.expected_now(unit, x, y)) * 2 + usize::from(f)
    }

    pub(super) fn quiet_context(&self, unit: usize, count: usize, new: bool) -> usize {
        960 + self.class(unit) * 14 + (count - 2) * 2 + usize::from(new)
    }

    pub(super) fn refinement_context(&self, unit: usize, x: i32, y: i32) -> usize {
        let first = self.units[unit].magnitude(x, y) >> (self.place.plane + 1) == 1;
        let bin = (bin(self.expected_now(unit, x, y)) / 2).saturating_sub(2);
        1296 + self.class(unit) * 16 + if first { 0 } else { 8 } + bin
    }

    pub(super) fn sign_context(&self, unit: usize, x: i32, y: i32) -> usize {
        let of = &self.units[unit];
        let three = |sum: i32| (sum.signum() + 1) as usize;
        let s = three(of.sign(x - 1, y) + of.sign(x + 1, y));
        let v = three(of.sign(x, y - 1) + of.sign(x, y + 1));
        let luma = if component(unit) > 0 { self.units[sibling(unit, 0)].sign(x, y) } else { 0 };
        1680 + (self.chroma(unit) * 3 + self.b(unit)) * 27 + (s * 3 + v) * 3 + three(luma)
    }

    pub(super) fn block_context(&self, unit: usize, bx: i32, by: i32) -> usize {
        let of = &self.units[unit];
        let n = positions(bx, by).filter(|&(x, y)| of.near(x, y)).count().div_ceil(2).min(2);
        let around = [(bx - 1, by), (bx + 1, by), (bx, by - 1), (bx, by + 1)];
        let active = |&&(bx, by): &&(i32, i32)| of.block(bx, by).is_some_and(|block| block.active);
        let a = around.iter().filter(active).count().min(3);
        let parent = parent(unit).is_some_and(|parent| {
            let mut area = (0..16).map(|at| (4 * bx + at % 4, 4 * by + at / 4));
            area.any(|(x, y)| self.units[parent].significant(x, y))
        });
        let luma = component(unit) > 0 && self.units[sibling(unit, 0)].block(bx, by).is_some_and(|block| block.active);
        let chroma = self.chroma(unit);
        1842 + chroma * 48 + ((n * 4 + a) * 2 + usize::from(parent)) * 2 + usize::from(luma)
    }

    pub(super) fn unit_context(&self, unit: usize) -> usize {
        1938 + component(unit) * 7 + if band(unit) == 0 { 0 } else { self.level(unit) }
    }
}
