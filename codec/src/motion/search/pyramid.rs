//! A frame at a quarter of its size, and rough displacements between two of them.

use crate::motion::field::{BLOCK, Field};
use crate::motion::vector::Vector;
use crate::picture::Size;

/// Luma samples to one.
const SCALE: usize = 4;
/// Quarters of a luma sample in a small one.
const QUARTERS: i16 = 16;
const _: () = assert!(QUARTERS as usize == 4 * SCALE);
/// Farthest displacement, in small samples.
const REACH: u8 = 8;
/// Small samples of the side of what is compared: a block and half of its neighbours, so that the field is smooth.
const SIDE: usize = 8;
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

    /// Where the block in this column and row of `now` was in `self`, roughly.
    pub(super) fn displacement(&self, now: &Self, [bx, by]: [usize; 2]) -> Vector {
        let corner = |at: usize| at * STEP + BORDER - SIDE / 4;
        let place = corner(by) * self.stride + corner(bx);
        let own: [&[u8]; SIDE] = std::array::from_fn(|row| &now.samples[place + row * self.stride..][..SIDE]);
        let mut best = (u32::MAX, [REACH; 2]);
        for dy in 0..=2 * REACH {
            for dx in 0..=2 * REACH {
                let first =
                    place + usize::from(dy) * self.stride + usize::from(dx) - usize::from(REACH) * (self.stride + 1);
                let far = u32::from(dx.abs_diff(REACH) + dy.abs_diff(REACH)) / 2;
                let cost = own.iter().enumerate().fold(far, |sum, (row, own)| {
                    let other = &self.samples[first + row * self.stride..][..SIDE];
                    sum + own.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>()
                });
                if cost < best.0 {
                    best = (cost, [dx, dy]);
                }
            }
        }
        let quarters = |at: u8| (i16::from(at) - i16::from(REACH)) * QUARTERS;
        Vector { x: quarters(best.1[0]), y: quarters(best.1[1]) }
    }
}

/// Of the square at this corner, its frame continued.
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
fn mean(size: Size, luma: &[u8], x: usize, y: usize) -> u8 {
    let row = |y: usize| &luma[y.min(size.height() - 1) * size.width()..][..size.width()];
    let sum = |y: usize| (x..x + SCALE).map(|x| u32::from(row(y)[x.min(size.width() - 1)])).sum::<u32>();
    ((y..y + SCALE).map(sum).sum::<u32>() / (SCALE * SCALE) as u32) as u8
}
