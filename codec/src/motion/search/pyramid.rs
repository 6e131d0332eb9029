//! A frame at a quarter of its size, and rough displacements between two of them.

use crate::motion::field::{BLOCK, Field};
use crate::motion::vector::Vector;
use crate::picture::Size;
use crate::simd::widest;

/// Luma samples to one.
const SCALE: usize = 4;
/// Quarters of a luma sample in a small one.
const QUARTERS: i16 = 16;
const _: () = assert!(QUARTERS as usize == 4 * SCALE);
/// Farthest displacement, in small samples.
const REACH: u8 = 8;
/// Small samples of the side of what is compared: a block and half of its neighbours, so that the field is smooth.
const SIDE: usize = 8;
/// Small samples of what is compared.
const SAMPLES: u32 = 64;
const _: () = assert!(SAMPLES as usize == SIDE * SIDE);
/// Steps of a small sample by which frames differ that have nothing new but noise.
const NOISE: u32 = 4;
/// Small samples by which the frame is continued.
const BORDER: usize = REACH as usize + SIDE;
/// Small samples of a block's side.
const STEP: usize = BLOCK / SCALE;

/// Mean luma of squares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pyramid {
    stride: usize,
    samples: Vec<u8>,
}

impl Pyramid {
    pub(super) fn reset(&mut self, size: Size, luma: &[u8]) {
        let [across, down] = Field::grid(size);
        let (width, height) = (across * STEP, down * STEP);
        self.stride = width + 2 * BORDER;
        self.samples.clear();
        for y in 0..height + 2 * BORDER {
            let start = self.samples.len();
            let y = y.saturating_sub(BORDER).min(height - 1);
            self.samples.resize(start + BORDER, 0);
            self.samples.extend((0..width).map(|x| mean(size, luma, x * SCALE, y * SCALE)));
            let last = self.samples[self.samples.len() - 1];
            self.samples.resize(start + self.stride, last);
            let first = self.samples[start + BORDER];
            self.samples[start..start + BORDER].fill(first);
        }
    }

    /// Whether both are of frames of one size.
    pub(super) const fn matches(&self, other: &Self) -> bool {
        self.stride == other.stride && self.samples.len() == other.samples.len()
    }

    /// What is compared, with this first sample, in one piece.
    #[inline(always)]
    fn square(&self, first: usize) -> [u8; SIDE * SIDE] {
        let mut square = [0; SIDE * SIDE];
        let samples = &self.samples[first..][..(SIDE - 1) * self.stride + SIDE];
        for (row, out) in square.chunks_exact_mut(SIDE).enumerate() {
            out.copy_from_slice(&samples[row * self.stride..][..SIDE]);
        }
        square
    }

    /// Looks in `self` for the block in this column and row of `now`.
    pub(super) fn find(&self, now: &Self, [bx, by]: [usize; 2]) -> Rough {
        let corner = |at: usize| at * STEP + BORDER - SIDE / 4;
        let place = corner(by) * self.stride + corner(bx);
        let own = now.square(place);
        let (at, left) = widest!(self.nearest(&own, place));
        let quarters = |at: u8| (i16::from(at) - i16::from(REACH)) * QUARTERS;
        let all = || own.iter().map(|sample| u32::from(*sample));
        let mean = all().sum::<u32>() / SAMPLES;
        Rough {
            vector: Vector { x: quarters(at[0]), y: quarters(at[1]) },
            left,
            texture: all().map(|sample| sample.abs_diff(mean)).sum(),
        }
    }

    /// Where around `place` the square is that is nearest to `own`, and the sum of absolute differences to it.
    #[inline(always)]
    fn nearest(&self, own: &[u8; SIDE * SIDE], place: usize) -> ([u8; 2], u32) {
        let mut best = (u32::MAX, [REACH; 2], 0);
        for dy in 0..=2 * REACH {
            for dx in 0..=2 * REACH {
                let first =
                    place + usize::from(dy) * self.stride + usize::from(dx) - usize::from(REACH) * (self.stride + 1);
                let far = u32::from(dx.abs_diff(REACH) + dy.abs_diff(REACH)) / 2;
                let left = difference(own, &self.square(first));
                if far + left < best.0 {
                    best = (far + left, [dx, dy], left);
                }
            }
        }
        (best.1, best.2)
    }
}

/// Sum of absolute differences.
#[inline(always)]
fn difference(one: &[u8; SIDE * SIDE], other: &[u8; SIDE * SIDE]) -> u32 {
    one.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
}

/// What a frame at a quarter of its size has of a block of the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rough {
    /// Where the block was.
    pub(super) vector: Vector,
    /// Sum of absolute differences to what was there.
    left: u32,
    /// Sum of absolute differences to the block's own mean.
    texture: u32,
}

impl Rough {
    /// Whether blocks are nearer to their own means than to anything in the frame before, by more than noise makes of
    /// flat ones. Both are sources, so the answer does not depend on any rate.
    pub(super) fn is_cut(blocks: &[Self]) -> bool {
        let sum = |of: fn(&Self) -> u32| blocks.iter().map(|block| u64::from(of(block))).sum::<u64>();
        let noise = u64::from(NOISE * SAMPLES) * blocks.len() as u64;
        sum(|block| block.left) > sum(|block| block.texture).max(noise)
    }
}

/// Of the square at this corner, its frame continued.
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
fn mean(size: Size, luma: &[u8], x: usize, y: usize) -> u8 {
    let row = |y: usize| &luma[y.min(size.height() - 1) * size.width()..][..size.width()];
    let sum = |y: usize| (x..x + SCALE).map(|x| u32::from(row(y)[x.min(size.width() - 1)])).sum::<u32>();
    ((y..y + SCALE).map(sum).sum::<u32>() / (SCALE * SCALE) as u32) as u8
}
