//! The filter sample by sample, as the specification defines it: the slow twin for tests, also used by training.

use crate::post_filter::classes::{change, classes};
use crate::post_filter::{BLOCK_SIDE, FRACTION_BITS, blocks};

/// Steps to the neighbours on one side (down, right); the neighbours on the other side are opposite.
const NEIGHBOUR_STEPS: [[isize; 2]; 12] =
    [[0, 1], [0, 2], [1, 0], [2, 0], [1, 1], [1, -1], [1, 2], [1, -2], [2, 1], [2, -1], [2, 2], [2, -2]];
const NEAR_STEPS: &[[isize; 2]] = NEIGHBOUR_STEPS.split_at(6).0;
const CROSS_STEPS: &[[isize; 2]] = &[[0, 1], [1, 0]];

/// Planes in 1/64 of a sample's step.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) components: Vec<Vec<i16>>,
}

impl Samples {
    /// Rounds planes to the nearest samples.
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    pub(crate) fn new(width: usize, height: usize, planes: &[Vec<f32>]) -> Self {
        let unit = f32::from(1_u16 << FRACTION_BITS);
        let nearest = |&value: &f32| (value * unit).round_ties_even().clamp(-32767.0, 32767.0) as i16;
        let components = planes.iter().map(|plane| plane.iter().map(nearest).collect());
        Self { width, height, components: components.collect() }
    }

    /// Returns a sample; the outermost ones are repeated beyond the picture.
    fn at(&self, component: usize, y: isize, x: isize) -> i16 {
        let within = |at: isize, side: usize| at.clamp(0, side.cast_signed() - 1).cast_unsigned();
        self.components[component][within(y, self.height) * self.width + within(x, self.width)]
    }

    /// The class of the block in this column and row of blocks.
    pub(crate) fn class(&self, component: usize, [bx, by]: [usize; 2], step: i16, significance: &[u8]) -> usize {
        let way = |down: isize, right: isize| {
            let top = (by * BLOCK_SIDE).cast_signed() - 2;
            let left = (bx * BLOCK_SIDE).cast_signed() - 2;
            let places = (top..top + 8).flat_map(|y| (left..left + 8).map(move |x| (y, x)));
            let changes = places
                .map(|(y, x)| change(self.at(component, y + down, x + right), self.at(component, y - down, x - right)));
            changes.map(|change| u32::from(change.unsigned_abs())).sum()
        };
        let changes = [way(0, 1), way(1, 0), way(1, 1), way(1, -1)];
        classes(&changes.map(|change| [change]), step, &[significance[by * blocks(self.width) + bx]])[0]
    }

    /// Returns the differences that a component's filter multiplies with its taps.
    pub(crate) fn differences(&self, component: usize, [x, y]: [usize; 2], step: i16) -> Vec<i16> {
        let x = x.cast_signed();
        let y = y.cast_signed();
        let step = i32::from(step);
        let parts: &[(usize, &[[isize; 2]])] = match component {
            0 => &[(0, &NEIGHBOUR_STEPS)],
            1 => &[(1, NEAR_STEPS), (0, NEAR_STEPS), (2, CROSS_STEPS)],
            _ => &[(2, NEAR_STEPS), (0, NEAR_STEPS), (1, CROSS_STEPS)],
        };
        let pairs = parts.iter().flat_map(|(source, neighbours)| neighbours.iter().map(move |step| (*source, step)));
        let summed = pairs.map(|(source, [down, right])| {
            let here = i32::from(self.at(source, y, x));
            let clipped = |y: isize, x: isize| (i32::from(self.at(source, y, x)) - here).clamp(-step, step);
            clipped(y + down, x + right) + clipped(y - down, x - right)
        });
        summed.map(|sum| i16::try_from(sum).expect("at most two steps")).collect()
    }
}

#[cfg(test)]
impl Samples {
    /// The filtered samples of a component, in 1/64.
    pub(crate) fn filtered(
        &self,
        table: &crate::post_filter::table::PostFilter,
        position: i32,
        component: usize,
        significance: &[u8],
    ) -> Vec<i32> {
        let step = table.filter(position, [component, 0, 0]).1;
        let mut out = self.components[component].iter().map(|&sample| i32::from(sample)).collect::<Vec<_>>();
        for (bx, by) in (0..blocks(self.height)).flat_map(|by| (0..blocks(self.width)).map(move |bx| (bx, by))) {
            let class = self.class(component, [bx, by], step, significance);
            let filters = [0, 1, 2, 3].map(|phase| table.filter(position, [component, class, phase]).0);
            for y in by * BLOCK_SIDE..((by + 1) * BLOCK_SIDE).min(self.height) {
                for x in bx * BLOCK_SIDE..((bx + 1) * BLOCK_SIDE).min(self.width) {
                    let taps = &filters[y % 2 * 2 + x % 2];
                    let products = self.differences(component, [x, y], step).into_iter().zip(taps);
                    let correction =
                        products.map(|(difference, &tap)| (i32::from(difference) * i32::from(tap) + (1 << 14)) >> 15);
                    out[y * self.width + x] += correction.sum::<i32>();
                }
            }
        }
        out
    }
}
