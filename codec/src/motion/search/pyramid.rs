//! A frame at a quarter of its size, and coarse vectors between two of them.

use crate::motion::field::{BLOCK_SIDE, Field};
use crate::motion::vector::Vector;
use crate::picture::Size;
use crate::simd::widest;

/// Luma samples, across and down, in one small sample.
const PYRAMID_SCALE: usize = 4;
/// Quarters of a luma sample in a small one.
const QUARTERS_PER_SMALL_SAMPLE: i16 = 16;
const _: () = assert!(QUARTERS_PER_SMALL_SAMPLE as usize == 4 * PYRAMID_SCALE);
/// The farthest displacement, in small samples.
const REACH_SMALL_SAMPLES: u8 = 8;
/// The side, in small samples, of the compared square: a block and half of its neighbours, so that the field is smooth.
const WINDOW_SIDE: usize = 8;
/// Small samples of the compared square.
const WINDOW_SAMPLES: u32 = 64;
const _: () = assert!(WINDOW_SAMPLES as usize == WINDOW_SIDE * WINDOW_SIDE);
/// The difference, in steps of a small sample, of frames that differ by noise alone.
const NOISE_STEPS: u32 = 4;
/// Small samples that continue the frame.
const BORDER_SMALL_SAMPLES: usize = REACH_SMALL_SAMPLES as usize + WINDOW_SIDE;
/// The side of a block in small samples.
const BLOCK_STEP: usize = BLOCK_SIDE / PYRAMID_SCALE;

/// The mean luma of squares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pyramid {
    stride: usize,
    samples: Vec<u8>,
    /// The sum of the quarter of a compared square that begins at each sample.
    sums: Vec<u16>,
    /// The sum of such a quarter's row that begins at each sample.
    of_rows: Vec<u16>,
}

impl Pyramid {
    pub(super) fn reset(&mut self, size: Size, luma: &[u8]) {
        let [across, down] = Field::grid(size);
        let width = across * BLOCK_STEP;
        let height = down * BLOCK_STEP;
        self.stride = width + 2 * BORDER_SMALL_SAMPLES;
        self.samples.clear();
        for y in 0..height + 2 * BORDER_SMALL_SAMPLES {
            let start = self.samples.len();
            let y = y.saturating_sub(BORDER_SMALL_SAMPLES).min(height - 1);
            self.samples.resize(start + BORDER_SMALL_SAMPLES, 0);
            self.samples.extend((0..width).map(|x| mean(size, luma, x * PYRAMID_SCALE, y * PYRAMID_SCALE)));
            let last = self.samples[self.samples.len() - 1];
            self.samples.resize(start + self.stride, last);
            let first = self.samples[start + BORDER_SMALL_SAMPLES];
            self.samples[start..start + BORDER_SMALL_SAMPLES].fill(first);
        }
        let Self { stride, samples, sums, of_rows } = self;
        of_rows.resize(samples.len(), 0);
        sums.resize(samples.len(), 0);
        widest!(sum_up(samples, 1, of_rows));
        widest!(sum_up(of_rows, *stride, sums));
    }

    /// Returns whether both belong to frames of one size.
    pub(super) const fn matches(&self, other: &Self) -> bool {
        self.stride == other.stride && self.samples.len() == other.samples.len()
    }

    /// Copies the square to compare, which has this first sample, into one piece.
    #[inline(always)]
    fn square(&self, first: usize) -> [u8; WINDOW_SIDE * WINDOW_SIDE] {
        let mut square = [0; WINDOW_SIDE * WINDOW_SIDE];
        let samples = &self.samples[first..][..(WINDOW_SIDE - 1) * self.stride + WINDOW_SIDE];
        for (row, out) in square.chunks_exact_mut(WINDOW_SIDE).enumerate() {
            out.copy_from_slice(&samples[row * self.stride..][..WINDOW_SIDE]);
        }
        square
    }

    /// Searches `self` for the blocks in row `by` of `now`. `stops`: go no further where a block is the same but for
    /// noise, at its own place or moved as the block before it.
    pub(super) fn find_row(&self, now: &Self, by: usize, stops: bool, out: &mut [CoarseVector]) {
        widest!(self.find_all(now, by, stops, out));
    }

    #[inline(always)]
    fn find_all(&self, now: &Self, by: usize, stops: bool, out: &mut [CoarseVector]) {
        let enough = if stops { NOISE_STEPS * WINDOW_SAMPLES } else { 0 };
        let mut near = [REACH_SMALL_SAMPLES; 2];
        for (bx, out) in out.iter_mut().enumerate() {
            let place = self.place([bx, by]);
            let own = now.square(place);
            let (at, left) = self.nearest(&own, now.quarters_at(place), place, near, enough);
            let quarters = |at: u8| (i16::from(at) - i16::from(REACH_SMALL_SAMPLES)) * QUARTERS_PER_SMALL_SAMPLE;
            let mut sum = 0;
            for sample in own {
                sum += u32::from(sample);
            }
            let texture = difference(&own, &[(sum / WINDOW_SAMPLES).to_le_bytes()[0]; WINDOW_SIDE * WINDOW_SIDE]);
            *out = CoarseVector { vector: Vector { x: quarters(at[0]), y: quarters(at[1]) }, left, texture };
            near = at;
        }
    }

    /// Returns the place of the first sample that is compared for the block in this column and row.
    const fn place(&self, [bx, by]: [usize; 2]) -> usize {
        let corner = BORDER_SMALL_SAMPLES - WINDOW_SIDE / 4;
        (by * BLOCK_STEP + corner) * self.stride + bx * BLOCK_STEP + corner
    }

    /// Returns where the quarters of the square at `place` begin.
    #[inline(always)]
    const fn quarters_of(&self, place: usize) -> [usize; 4] {
        let half = WINDOW_SIDE / 2;
        [place, place + half, place + half * self.stride, place + half * self.stride + half]
    }

    /// Returns the sums of the quarters of the square at `place`.
    #[inline(always)]
    fn quarters_at(&self, place: usize) -> [u16; 4] {
        self.quarters_of(place).map(|place| self.sums[place])
    }

    /// Returns the place of the square around `place` that is nearest to `own`, and the sum of absolute differences.
    /// Skips squares whose quarters' sums alone differ too much (Li and Salari, "Successive elimination algorithm for
    /// motion estimation", IEEE Trans. Image Processing 4(1), 1995): more than all of the square `near`, which is as
    /// good a guess as any. It searches no further if either leaves `enough`.
    #[inline(always)]
    fn nearest(
        &self,
        own: &[u8; WINDOW_SIDE * WINDOW_SIDE],
        sums: [u16; 4],
        place: usize,
        near: [u8; 2],
        enough: u32,
    ) -> ([u8; 2], u32) {
        let first = place - usize::from(REACH_SMALL_SAMPLES) * (self.stride + 1);
        let at = |[dx, dy]: [u8; 2]| first + usize::from(dy) * self.stride + usize::from(dx);
        let left = difference(own, &self.square(place));
        let mut best = (left, [REACH_SMALL_SAMPLES; 2], left);
        let left_near = difference(own, &self.square(at(near)));
        if left.min(left_near) <= enough {
            return if left <= left_near { (best.1, left) } else { (near, left_near) };
        }
        // No square that costs more is the best.
        let most = best.0.min(far(near) + left_near);
        for dy in 0..=2 * REACH_SMALL_SAMPLES {
            let starts = self.quarters_of(at([0, dy]));
            let of_row = starts.map(|start| &self.sums[start..][..AXIS_POSITIONS]);
            let mut least = [0; AXIS_POSITIONS];
            for dx in 0..AXIS_POSITIONS {
                for (sums, own) in of_row.iter().zip(sums) {
                    least[dx] += sums[dx].abs_diff(own);
                }
            }
            for (dx, least) in (0..).zip(least) {
                let far = far([dx, dy]);
                let least = far + u32::from(least);
                if least > most || least >= best.0 {
                    continue;
                }
                let left = difference(own, &self.square(at([dx, dy])));
                if far + left < best.0 {
                    best = (far + left, [dx, dy], left);
                }
            }
        }
        (best.1, best.2)
    }
}

/// The positions of a square along one axis.
const AXIS_POSITIONS: usize = 2 * REACH_SMALL_SAMPLES as usize + 1;

/// The cost of a displacement: near ones are likelier.
#[inline(always)]
fn far([dx, dy]: [u8; 2]) -> u32 {
    u32::from(dx.abs_diff(REACH_SMALL_SAMPLES) + dy.abs_diff(REACH_SMALL_SAMPLES)) / 2
}

/// Sets the first samples of `out` to sums of half of [`WINDOW_SIDE`] samples of `from`, `step` apart.
#[inline(always)]
fn sum_up<T: Copy + Into<u16>>(from: &[T], step: usize, out: &mut [u16]) {
    let Some(count) = from.len().checked_sub((WINDOW_SIDE / 2 - 1) * step) else { return };
    let parts: [&[T]; WINDOW_SIDE / 2] = std::array::from_fn(|part| &from[part * step..][..count]);
    for (at, out) in out[..count].iter_mut().enumerate() {
        let mut sum = 0;
        for part in parts {
            sum += part[at].into();
        }
        *out = sum;
    }
}

/// The sum of absolute differences.
#[inline(always)]
fn difference(one: &[u8; WINDOW_SIDE * WINDOW_SIDE], other: &[u8; WINDOW_SIDE * WINDOW_SIDE]) -> u32 {
    let mut sum = 0;
    for (a, b) in one.iter().zip(other) {
        sum += u32::from(a.abs_diff(*b));
    }
    sum
}

/// The coarse match of a block in the frame before, at a quarter of its size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CoarseVector {
    /// The displacement to the match.
    pub(super) vector: Vector,
    /// The sum of absolute differences from the match.
    left: u32,
    /// The sum of absolute differences from the block's own mean.
    texture: u32,
}

impl CoarseVector {
    /// Returns whether blocks are nearer to their own means than to the frame before, by more than the noise of flat
    /// blocks. It uses source frames only, so the answer does not depend on any rate.
    pub(super) fn is_cut(blocks: &[Self]) -> bool {
        let sum = |of: fn(&Self) -> u32| blocks.iter().map(|block| u64::from(of(block))).sum::<u64>();
        let noise = u64::from(NOISE_STEPS * WINDOW_SAMPLES) * blocks.len() as u64;
        sum(|block| block.left) > sum(|block| block.texture).max(noise)
    }
}

/// The mean of the square at this corner; the frame is continued.
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
fn mean(size: Size, luma: &[u8], x: usize, y: usize) -> u8 {
    let row = |y: usize| &luma[y.min(size.height() - 1) * size.width()..][..size.width()];
    let sum = |y: usize| (x..x + PYRAMID_SCALE).map(|x| u32::from(row(y)[x.min(size.width() - 1)])).sum::<u32>();
    ((y..y + PYRAMID_SCALE).map(sum).sum::<u32>() / (PYRAMID_SCALE * PYRAMID_SCALE) as u32) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_within_reach_is_nearer_than_what_is_found() {
        let size = Size::new(150, 90).expect("a valid size");
        let luma = |moved: usize| -> Vec<u8> {
            let sample = |x: usize, y: usize| (x * x / 9 + y * y / 5 + x * y % 31).to_le_bytes()[0];
            (0..90).flat_map(|y| (0..150).map(move |x| sample(x + moved, y))).collect()
        };
        let mut before = Pyramid::default();
        let mut now = Pyramid::default();
        before.reset(size, &luma(0));
        now.reset(size, &luma(9));
        let [across, down] = Field::grid(size);
        let mut rows = vec![CoarseVector::default(); across * down];
        rows.chunks_mut(across).enumerate().for_each(|(by, row)| before.find_row(&now, by, false, row));
        for (bx, by) in (0..down).flat_map(|by| (0..across).map(move |bx| (bx, by))) {
            let found = rows[by * across + bx];
            let reach = i16::from(REACH_SMALL_SAMPLES);
            let place = |x: i16, y: i16| {
                let corner = [(bx, x), (by, y)].map(|(at, part)| {
                    (at * BLOCK_STEP + BORDER_SMALL_SAMPLES - WINDOW_SIDE / 4)
                        .checked_add_signed(isize::from(part))
                        .expect("within the border")
                });
                corner[1] * before.stride + corner[0]
            };
            let own = now.square(place(0, 0));
            let cost = |x: i16, y: i16| {
                let far = u32::from(x.unsigned_abs() + y.unsigned_abs()) / 2;
                far + difference(&own, &before.square(place(x, y)))
            };
            let least =
                (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| (x, y))).map(|(x, y)| cost(x, y)).min();
            let vector = [found.vector.x, found.vector.y].map(|part| part / QUARTERS_PER_SMALL_SAMPLE);
            assert_eq!(Some(cost(vector[0], vector[1])), least, "block {bx}, {by}");
        }
    }
}
