//! The contributions of blocks to an overlapped prediction, accurate enough for a choice: from 8-bit samples, in 16
//! bits throughout.
//!
//! A share is such a contribution: a sample, less 128, times the weights of its column and row. The weights at one
//! place sum to 2^8, so a sum of shares fits in 16 bits too.

use crate::motion::field::{BLOCK_SIDE, Block, Field, PARTITION_SIDE, Source};
use crate::motion::interpolate::{Window, row_length};
use crate::motion::overlap::{Kind, Motion, Weights, units};
use crate::motion::reference::{BySource, FRACTION_BITS, Past, Plane};
use crate::motion::vector::Vector;
use crate::simd::widest;

/// The side in samples of a block with its overlap.
pub(super) const OVERLAPPED_SIDE: usize = BLOCK_SIDE + PARTITION_SIDE;
/// The same for a partition.
const CELL_SIDE: usize = 2 * PARTITION_SIDE;
/// The shift from shares to eighths of a step.
const SHARE_SHIFT: u32 = 8 - FRACTION_BITS;
/// The side of the squares of differences that are transformed; the search checks their sum after every row of squares.
const TRANSFORM_SIDE: usize = 8;
/// The shift from eighths of a step to halves: 64 times the largest difference in halves fits in 16 bits.
const TO_HALVES: u32 = FRACTION_BITS - 1;
/// The divisor of a transform's sum of magnitudes in halves of a step: noise then has the sum of its differences.
const TRANSFORM_SCALE: u32 = 16;
const _: () = assert!(TRANSFORM_SCALE as usize == TRANSFORM_SIDE << (FRACTION_BITS - TO_HALVES));

/// The shares or samples that a block covers with its overlap, row by row.
pub(super) type Square = [[i16; OVERLAPPED_SIDE]; OVERLAPPED_SIDE];

/// The luma planes that blocks are predicted from, and memory for their interpolation.
pub(super) struct Sampler<'a> {
    pub(super) planes: BySource<Past<&'a Plane>>,
    pub(super) room: &'a mut Room,
}

/// Memory for interpolated samples.
#[derive(Debug)]
pub(super) struct Room {
    windows: [Window; 2],
    rounded: Square,
}

impl Default for Room {
    fn default() -> Self {
        Self { windows: Default::default(), rounded: [[0; OVERLAPPED_SIDE]; OVERLAPPED_SIDE] }
    }
}

/// The motion of a block that is not constant.
#[derive(Clone, Copy)]
enum Moved {
    By(Vector),
    ByTwo([Vector; 2]),
}

impl Sampler<'_> {
    /// Returns 8-bit samples, less 128, the first of which is at `corner` moved by `vector`. Only `side[0]` x `side[1]`
    /// of them have a meaning.
    fn fetch(&mut self, source: Source, corner: [isize; 2], motion: Moved, side: [usize; 2]) -> &Square {
        let planes = *self.planes.of(source);
        let Room { windows: [window, other], rounded } = &mut *self.room;
        let samples = match motion {
            Moved::By(vector) => window.fetch(planes.last, true, corner, vector, side),
            Moved::ByTwo(vectors) => window.fetch_mean(other, planes, true, corner, vectors, side),
        };
        match row_length(side[0]) {
            OVERLAPPED_SIDE => widest!(round::<OVERLAPPED_SIDE>(samples, rounded)),
            _ => widest!(round::<CELL_SIDE>(samples, rounded)),
        }
        rounded
    }
}

/// Rounds from 1/64 of a step, and clamps because filters overshoot.
#[inline(always)]
fn round<const LENGTH: usize>(samples: &[i16], out: &mut Square) {
    for (out, samples) in out.iter_mut().zip(samples.as_chunks::<LENGTH>().0) {
        for i in 0..LENGTH {
            out[i] = (((samples[i] >> (2 * FRACTION_BITS - 1)) + 1) >> 1).clamp(-128, 127);
        }
    }
}

/// Sums of shares: rows of `width`, and [`OVERLAPPED_SIDE`] more after the last, to which nothing is added.
pub(super) struct Sums<'a> {
    pub(super) all: &'a mut [i16],
    pub(super) width: usize,
    /// Column and row of the first sample.
    pub(super) corner: [usize; 2],
}

impl Sums<'_> {
    /// Adds the shares of block `at` if it is `block`.
    pub(super) fn add(&mut self, sampler: &mut Sampler<'_>, field: &Field, at: usize, block: &Block) {
        for unit in units(block, Kind::Luma, [at % field.across, at / field.across]).into_iter().flatten() {
            let [(left, across), (upper, down)] = Weights::of_unit(&unit, field, Kind::Luma);
            let [x, y] = [left, upper].map(isize::cast_unsigned);
            let all = &mut self.all[(y - self.corner[1]) * self.width + x - self.corner[0]..];
            let down = down.as_slice();
            let moved = match unit.motion {
                Motion::Moved(vector) => Moved::By(vector),
                Motion::Bipredicted(vectors) => Moved::ByTwo(vectors),
                Motion::Constant(level) => {
                    let samples = [level >> (2 * FRACTION_BITS); OVERLAPPED_SIDE];
                    widest!(add_rows::<OVERLAPPED_SIDE>(all, self.width, |_| samples, across.first(), down));
                    continue;
                }
            };
            let sides = [across.as_slice().len(), down.len()];
            let samples = sampler.fetch(field.sources[at], [left, upper], moved, sides);
            if unit.partitions == [1, 1] {
                widest!(add_rows::<CELL_SIDE>(all, self.width, |y| first(&samples[y]), across.first(), down));
            } else {
                widest!(add_rows::<OVERLAPPED_SIDE>(all, self.width, |y| samples[y], across.first(), down));
            }
        }
    }
}

/// Adds rows of samples times the weights of their column and row. Weights after a block's last column are zero.
#[inline(always)]
fn add_rows<const LENGTH: usize>(
    sums: &mut [i16],
    width: usize,
    samples: impl Fn(usize) -> [i16; LENGTH],
    across: &[i16; LENGTH],
    down: &[i16],
) {
    for (row, down) in down.iter().enumerate() {
        let Some(sums) = sums[row * width..].first_chunk_mut::<LENGTH>() else { return };
        let shares = shares(&samples(row), across, *down);
        for i in 0..LENGTH {
            sums[i] += shares[i];
        }
    }
}

#[inline(always)]
fn first<const LENGTH: usize>(row: &[i16; OVERLAPPED_SIDE]) -> [i16; LENGTH] {
    std::array::from_fn(|i| row[i])
}

#[inline(always)]
fn shares<const LENGTH: usize>(samples: &[i16; LENGTH], across: &[i16; LENGTH], down: i16) -> [i16; LENGTH] {
    std::array::from_fn(|i| samples[i] * (across[i] * down))
}

/// The target of a block's choice: the frame's samples around it in eighths of a step, less 128, and the other blocks'
/// shares there.
pub(super) struct Target {
    pub(super) wanted: Square,
    pub(super) others: Square,
}

impl Target {
    /// Returns the error in steps if the block has the shares `own`, or a value of at least `enough` if the error is as
    /// large. The error is the sum of magnitudes of the differences' Hadamard transform, in squares of 8 x 8, which
    /// predicts their bits better than the sum of the differences.
    pub(super) fn left(&self, own: &Square, enough: u32) -> u32 {
        widest!(self.left_of(|y| own[y], enough))
    }

    /// As [`Target::left`], if block `at` is `block`, which moves as one.
    pub(super) fn left_of_moved(
        &self,
        sampler: &mut Sampler<'_>,
        field: &Field,
        at: usize,
        block: &Block,
        enough: u32,
    ) -> u32 {
        let [Some(unit), ..] = units(block, Kind::Luma, [at % field.across, at / field.across]) else {
            return u32::MAX;
        };
        let moved = match unit.motion {
            Motion::Moved(vector) => Moved::By(vector),
            Motion::Bipredicted(vectors) => Moved::ByTwo(vectors),
            Motion::Constant(_) => return u32::MAX,
        };
        let [(left, across), (upper, down)] = Weights::of_unit(&unit, field, Kind::Luma);
        let sides = [across, down].map(|weights| weights.as_slice().len());
        let samples = sampler.fetch(field.sources[at], [left, upper], moved, sides);
        let across = across.first::<OVERLAPPED_SIDE>();
        let down = down.as_slice();
        let own = |y| if y < down.len() { shares(&samples[y], across, down[y]) } else { [0; OVERLAPPED_SIDE] };
        widest!(self.left_of(own, enough))
    }

    #[inline(always)]
    fn left_of(&self, own: impl Fn(usize) -> [i16; OVERLAPPED_SIDE], enough: u32) -> u32 {
        let mut sum = 0;
        for first in (0..OVERLAPPED_SIDE).step_by(TRANSFORM_SIDE) {
            let mut rows: [[i16; OVERLAPPED_SIDE]; TRANSFORM_SIDE] = std::array::from_fn(|y| {
                let own = own(first + y);
                let others = &self.others[first + y];
                let wanted = &self.wanted[first + y];
                std::array::from_fn(|x| (((others[x] + own[x]) >> SHARE_SHIFT) - wanted[x]) >> TO_HALVES)
            });
            hadamard(&mut rows);
            for left in (0..OVERLAPPED_SIDE).step_by(TRANSFORM_SIDE) {
                let mut columns: [[i16; TRANSFORM_SIDE]; TRANSFORM_SIDE] =
                    std::array::from_fn(|x| std::array::from_fn(|y| rows[y][left + x]));
                hadamard(&mut columns);
                let mut lanes = [0_u32; TRANSFORM_SIDE];
                for column in columns {
                    for i in 0..TRANSFORM_SIDE {
                        lanes[i] += u32::from(column[i].unsigned_abs());
                    }
                }
                sum += lanes.iter().sum::<u32>();
            }
            if sum / TRANSFORM_SCALE >= enough {
                break;
            }
        }
        sum / TRANSFORM_SCALE
    }
}

/// Transforms every column: sums and differences, without a scale.
#[inline(always)]
fn hadamard<const WIDTH: usize>(rows: &mut [[i16; WIDTH]; TRANSFORM_SIDE]) {
    for step in [1, 2, 4] {
        for y in (0..TRANSFORM_SIDE).filter(|y| y & step == 0) {
            let a = rows[y];
            let b = rows[y + step];
            rows[y] = std::array::from_fn(|x| a[x] + b[x]);
            rows[y + step] = std::array::from_fn(|x| a[x] - b[x]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::field::Turn;
    use crate::motion::overlap::predict;
    use crate::motion::reference::Reference;
    use crate::picture::Size;
    use crate::scratch::Scratch;

    /// If references have whole steps and vectors whole samples, nothing is rounded before the end.
    #[test]
    fn shares_of_all_blocks_are_the_prediction() {
        let mut seed = 1_u32;
        let mut random = |most: i16| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(seed >> 17).expect("15 bits") % most
        };
        for (width, height) in [(1, 1), (17, 16), (50, 37), (64, 33)] {
            let mut reference = Reference::new(Size::new(width, height).expect("a valid size"));
            let plane = &mut reference.planes[0];
            for y in 0..plane.height {
                plane.row_mut(y).fill_with(|| (random(256) - 128) << FRACTION_BITS);
            }
            plane.continue_borders();
            let mut field = Field::default();
            let size = Size::new(width, height).expect("a valid size");
            field.reset(size, Turn { phase: 0, renews: true }, &[]);
            for block in &mut field.blocks {
                let vectors =
                    std::array::from_fn(|_| Vector { x: random(40) / 4 * 4 - 20, y: random(40) / 4 * 4 - 20 });
                *block = match random(4) {
                    0 => Block::Constant(5),
                    1 => Block::Moved(vectors),
                    2 => Block::Bipredicted([vectors[0]; 2]),
                    _ => Block::whole(vectors[0]),
                };
            }
            let plane = &reference.planes[0];
            let mut wanted = Plane::new(plane.width, plane.height);
            let past = Past { last: plane, before: plane };
            let planes = BySource { enhancement_reference: past, base_reference: past };
            let blocks = (0..field.down, plane.height);
            predict(&field, Kind::Luma, planes, blocks, &Scratch::default(), &mut wanted.rows_mut());
            let across = field.across * BLOCK_SIDE;
            let rows = field.down * BLOCK_SIDE;
            let mut all = vec![0; across * rows + OVERLAPPED_SIDE];
            let mut sums = Sums { all: &mut all, width: across, corner: [0; 2] };
            let mut sampler = Sampler { planes, room: &mut Room::default() };
            for (at, block) in field.blocks.iter().enumerate() {
                sums.add(&mut sampler, &field, at, block);
            }
            for y in 0..plane.height {
                let row = sums.all[y * across..].iter().map(|sum| (sum + (1 << (SHARE_SHIFT - 1))) >> SHARE_SHIFT);
                assert!(row.take(plane.width).eq(wanted.row(y).iter().copied()), "{width}x{height}, row {y}");
            }
        }
    }

    #[test]
    fn what_is_left_is_the_transforms_definition() {
        let square = |step: i16| -> Square {
            let mut values = (0..).step_by(3).map(|value| value % 230 * step);
            std::array::from_fn(|_| std::array::from_fn(|_| values.next().expect("without end")))
        };
        let target = Target { wanted: square(1), others: square(11) };
        let own = square(5);
        let halves = |x: usize, y: usize| {
            i64::from((((target.others[y][x] + own[y][x]) >> SHARE_SHIFT) - target.wanted[y][x]) >> TO_HALVES)
        };
        let sign = |a: usize, b: usize| if (a & b).count_ones().is_multiple_of(2) { 1 } else { -1 };
        let square_of = || (0..TRANSFORM_SIDE * TRANSFORM_SIDE).map(|at| (at % TRANSFORM_SIDE, at / TRANSFORM_SIDE));
        let corners = (0..OVERLAPPED_SIDE)
            .step_by(TRANSFORM_SIDE)
            .flat_map(|y| (0..OVERLAPPED_SIDE).step_by(TRANSFORM_SIDE).map(move |x| (x, y)));
        let value = |(left, top): (usize, usize), (u, v): (usize, usize)| -> i64 {
            square_of().map(|(x, y)| sign(u, x) * sign(v, y) * halves(left + x, top + y)).sum()
        };
        let sum: u64 = corners.flat_map(|corner| square_of().map(move |at| value(corner, at).unsigned_abs())).sum();
        let left = u32::try_from(sum / u64::from(TRANSFORM_SCALE)).expect("small");
        assert_eq!(target.left(&own, u32::MAX), left);
        assert!((left / 2..=left).contains(&target.left(&own, left / 2)));
    }

    /// The largest possible differences do not overflow.
    #[test]
    fn the_largest_differences_are_taken() {
        let black = -128 << 8;
        let target = Target {
            wanted: [[127 << FRACTION_BITS; OVERLAPPED_SIDE]; OVERLAPPED_SIDE],
            others: [[0; OVERLAPPED_SIDE]; OVERLAPPED_SIDE],
        };
        // One coefficient of a square has the whole sum.
        assert_eq!(target.left(&[[black; OVERLAPPED_SIDE]; OVERLAPPED_SIDE], u32::MAX), 9 * 64 * 510 / TRANSFORM_SCALE);
    }
}
