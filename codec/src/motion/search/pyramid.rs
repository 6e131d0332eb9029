//! A frame at a quarter of its size, and coarse vectors between two of them.

use crate::motion::field::{BLOCK, Field};
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
const BLOCK_STEP: usize = BLOCK / PYRAMID_SCALE;

/// The mean luma of squares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pyramid {
    stride: usize,
    samples: Vec<u8>,
    /// The sum of the square that begins at each sample.
    sums: Vec<u16>,
    /// The sum of a square's row that begins at each sample.
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
        of_rows.clear();
        of_rows.extend(samples.iter().map(|sample| u16::from(*sample)));
        sums.clone_from(of_rows);
        widest!(sum_up(sums, 1, of_rows));
        sums.clone_from(of_rows);
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

    /// Searches `self` for the block in this column and row of `now`.
    pub(super) fn find(&self, now: &Self, [bx, by]: [usize; 2]) -> CoarseVector {
        let corner = |at: usize| at * BLOCK_STEP + BORDER_SMALL_SAMPLES - WINDOW_SIDE / 4;
        let place = corner(by) * self.stride + corner(bx);
        let own = now.square(place);
        let (at, left) = widest!(self.nearest(&own, place));
        let quarters = |at: u8| (i16::from(at) - i16::from(REACH_SMALL_SAMPLES)) * QUARTERS_PER_SMALL_SAMPLE;
        let all = || own.iter().map(|sample| u32::from(*sample));
        let mean = all().sum::<u32>() / WINDOW_SAMPLES;
        CoarseVector {
            vector: Vector { x: quarters(at[0]), y: quarters(at[1]) },
            left,
            texture: all().map(|sample| sample.abs_diff(mean)).sum(),
        }
    }

    /// Returns the place of the square around `place` that is nearest to `own`, and the sum of absolute differences.
    /// Skips squares whose sums alone differ too much (Li and Salari, "Successive elimination algorithm for motion
    /// estimation", IEEE Trans. Image Processing 4(1), 1995).
    #[inline(always)]
    fn nearest(&self, own: &[u8; WINDOW_SIDE * WINDOW_SIDE], place: usize) -> ([u8; 2], u32) {
        let mut sum = 0;
        for sample in own {
            sum += u16::from(*sample);
        }
        let left = difference(own, &self.square(place));
        let mut best = (left, [REACH_SMALL_SAMPLES; 2], left);
        for dy in 0..=2 * REACH_SMALL_SAMPLES {
            let first = place + usize::from(dy) * self.stride - usize::from(REACH_SMALL_SAMPLES) * (self.stride + 1);
            let sums = &self.sums[first..][..=2 * usize::from(REACH_SMALL_SAMPLES)];
            for (dx, other) in (0_u8..).zip(sums) {
                let far = u32::from(dx.abs_diff(REACH_SMALL_SAMPLES) + dy.abs_diff(REACH_SMALL_SAMPLES)) / 2;
                if far + u32::from(sum.abs_diff(*other)) >= best.0 {
                    continue;
                }
                let left = difference(own, &self.square(first + usize::from(dx)));
                if far + left < best.0 {
                    best = (far + left, [dx, dy], left);
                }
            }
        }
        (best.1, best.2)
    }
}

/// Sets the first samples of `out` to sums of [`WINDOW_SIDE`] samples of `from`, `step` apart.
#[inline(always)]
fn sum_up(from: &[u16], step: usize, out: &mut [u16]) {
    let Some(count) = from.len().checked_sub((WINDOW_SIDE - 1) * step) else { return };
    let parts: [&[u16]; WINDOW_SIDE] = std::array::from_fn(|part| &from[part * step..][..count]);
    for (at, out) in out[..count].iter_mut().enumerate() {
        *out = 0;
        for part in parts {
            *out += part[at];
        }
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
        for (bx, by) in (0..down).flat_map(|by| (0..across).map(move |bx| (bx, by))) {
            let found = before.find(&now, [bx, by]);
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
