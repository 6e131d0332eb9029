//! A reference's luma at quarters of a sample, approximate and fast: 8-bit half samples, and means of these.

use crate::motion::field::{BLOCK_SIDE, PARTITION_SIDE};
use crate::motion::reference::{BORDER_SAMPLES, FRACTION_BITS, Plane};
use crate::motion::search::difference::{Differences, Quadrants, mean};
use crate::motion::vector::Vector;
use crate::parallel::{self, Threads};
use crate::simd::{widest, with_instructions};

/// The samples for each thread that interpolates, at least.
const MIN_PARALLEL_SAMPLES: usize = 1 << 16;

/// Planes of whole samples, and of those half a sample to the right, below, and both.
#[derive(Debug, Clone, Default)]
pub(super) struct Quarters {
    width: usize,
    height: usize,
    stride: usize,
    planes: [Vec<u8>; 4],
}

/// For every quarter, by rows: the two planes whose mean it is, each with steps to the right and down.
const QUARTER_MEANS: [[(usize, usize, usize); 2]; 16] = {
    const WHOLE: usize = 0;
    const RIGHT: usize = 1;
    const BELOW: usize = 2;
    const BOTH: usize = 3;
    [
        [(WHOLE, 0, 0), (WHOLE, 0, 0)],
        [(WHOLE, 0, 0), (RIGHT, 0, 0)],
        [(RIGHT, 0, 0), (RIGHT, 0, 0)],
        [(RIGHT, 0, 0), (WHOLE, 1, 0)],
        [(WHOLE, 0, 0), (BELOW, 0, 0)],
        [(RIGHT, 0, 0), (BELOW, 0, 0)],
        [(RIGHT, 0, 0), (BOTH, 0, 0)],
        [(RIGHT, 0, 0), (BELOW, 1, 0)],
        [(BELOW, 0, 0), (BELOW, 0, 0)],
        [(BELOW, 0, 0), (BOTH, 0, 0)],
        [(BOTH, 0, 0), (BOTH, 0, 0)],
        [(BOTH, 0, 0), (BELOW, 1, 0)],
        [(BELOW, 0, 0), (WHOLE, 0, 1)],
        [(BELOW, 0, 0), (RIGHT, 0, 1)],
        [(BOTH, 0, 0), (RIGHT, 0, 1)],
        [(BELOW, 1, 0), (RIGHT, 0, 1)],
    ]
};

impl Quarters {
    /// Interpolates the luma of `pictures`, each of which has the planes that it fills.
    pub(super) fn reset(pictures: &mut [(&mut Self, &Plane)], threads: &Threads) {
        let samples = pictures.iter().map(|(_, plane)| plane.samples.len()).sum::<usize>();
        let threads = &threads.at_most(samples / MIN_PARALLEL_SAMPLES);
        let parts = threads.count().div_ceil(pictures.len().max(1));
        for (quarters, plane) in &mut *pictures {
            (quarters.width, quarters.height, quarters.stride) = (plane.width, plane.height, plane.stride);
            quarters.planes.iter_mut().for_each(|samples| samples.resize(plane.samples.len(), 0));
        }
        let whole = pictures.iter_mut().flat_map(|(quarters, plane)| {
            let count = plane.samples.len().div_ceil(parts).max(1);
            plane.samples.chunks(count).zip(quarters.planes[0].chunks_mut(count))
        });
        parallel::for_each(threads, whole, |(samples, out)| widest!(round(samples, out)));
        let beside = pictures.iter_mut().flat_map(|(quarters, _)| {
            let [whole, right, below, _] = &mut quarters.planes;
            [(&**whole, 1, between_mut(right, 1)), (&**whole, quarters.stride, between_mut(below, quarters.stride))]
        });
        parallel::for_each(threads, beside, |(from, step, out)| widest!(between(from, step, out)));
        let both = pictures.iter_mut().flat_map(|(quarters, _)| {
            let stride = quarters.stride;
            let [_, right, _, both] = &mut quarters.planes;
            let (right, out) = (&**right, between_mut(both, stride));
            let count = out.len().div_ceil(parts).max(1);
            out.chunks_mut(count).enumerate().map(move |(part, out)| (&right[part * count..], stride, out))
        });
        parallel::for_each(threads, both, |(from, step, out)| widest!(between(from, step, out)));
    }

    /// Returns where the samples at `corner`, moved by `vector`, begin in the two planes whose mean they are.
    #[inline(always)]
    fn places(&self, corner: [isize; 2], vector: Vector, side: [usize; 2]) -> [&[u8]; 2] {
        let place = |axis: usize| {
            let [least, most] = self.reach(side[axis])[axis];
            (moved(corner, vector)[axis].clamp(least, most) + BORDER_SAMPLES.cast_signed()).cast_unsigned()
        };
        let place = place(1) * self.stride + place(0);
        let quarter = usize::from((vector.y & 3).cast_unsigned()) * 4 + usize::from((vector.x & 3).cast_unsigned());
        QUARTER_MEANS[quarter].map(|(plane, x, y)| &self.planes[plane][place + y * self.stride + x..])
    }

    /// Returns the first and last place of a square of this side, along each axis. Squares beyond are moved there.
    #[inline(always)]
    fn reach(&self, side: usize) -> [[isize; 2]; 2] {
        [self.width, self.height]
            .map(|length| [4 - BORDER_SAMPLES.cast_signed(), (length + BORDER_SAMPLES - 5 - side).cast_signed()])
    }

    /// Returns the sums of absolute differences of a block's partitions; its corner in the frame is `corner`.
    #[inline(always)]
    pub(super) fn of_block(
        &self,
        instructions: impl Differences,
        own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
        corner: [usize; 2],
        vector: Vector,
    ) -> Quadrants {
        let places = self.places(corner.map(usize::cast_signed), vector, [BLOCK_SIDE; 2]);
        instructions.of_block(own, places, self.stride)
    }

    /// Returns the sums of absolute differences of a block, and of each of its partitions alone: they may differ far
    /// outside of the frame, where a block and its partitions are moved by other distances.
    #[inline(always)]
    pub(super) fn of_block_and_partitions(
        &self,
        instructions: impl Differences,
        own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
        corner: [usize; 2],
        vector: Vector,
    ) -> (u32, Quadrants) {
        let sums = self.of_block(instructions, own, corner, vector);
        let whole = sums.iter().sum();
        let place = moved(corner.map(usize::cast_signed), vector);
        let is_inside = |axis: usize| {
            let [least, most] = self.reach(BLOCK_SIDE)[axis];
            (least..=most).contains(&place[axis])
        };
        if is_inside(0) && is_inside(1) {
            return (whole, sums);
        }
        let of_partition = |partition: usize| {
            let [x, y] = [partition % 2, partition / 2].map(|at| at * PARTITION_SIDE);
            let own = std::array::from_fn(|row| std::array::from_fn(|column| own[y + row][x + column]));
            self.of_partition(instructions, &own, [corner[0] + x, corner[1] + y], vector)
        };
        (whole, std::array::from_fn(of_partition))
    }

    /// Returns the sum of absolute differences of a partition.
    #[inline(always)]
    pub(super) fn of_partition(
        &self,
        instructions: impl Differences,
        own: &[[u8; PARTITION_SIDE]; PARTITION_SIDE],
        corner: [usize; 2],
        vector: Vector,
    ) -> u32 {
        let places = self.places(corner.map(usize::cast_signed), vector, [PARTITION_SIDE; 2]);
        instructions.of_partition(own, places, self.stride)
    }

    /// Returns the sum of absolute differences of a block.
    pub(super) fn difference(&self, own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE], corner: [usize; 2], vector: Vector) -> u32 {
        with_instructions!(|all| self.of_block(all, own, corner, vector)).iter().sum()
    }
}

/// The place to which `vector` moves `corner`, in whole samples.
#[inline(always)]
fn moved(corner: [isize; 2], vector: Vector) -> [isize; 2] {
    [corner[0] + isize::from(vector.x >> 2), corner[1] + isize::from(vector.y >> 2)]
}

/// A block's samples and its prediction by a first vector, for the search of a second one.
pub(super) struct Rest<'a> {
    own: &'a [[u8; BLOCK_SIDE]; BLOCK_SIDE],
    first: [[u8; BLOCK_SIDE]; BLOCK_SIDE],
    corner: [usize; 2],
}

impl<'a> Rest<'a> {
    pub(super) fn new(
        own: &'a [[u8; BLOCK_SIDE]; BLOCK_SIDE],
        quarters: &Quarters,
        corner: [usize; 2],
        vector: Vector,
    ) -> Self {
        let mut first = [[0; BLOCK_SIDE]; BLOCK_SIDE];
        let places = quarters.places(corner.map(usize::cast_signed), vector, [BLOCK_SIDE; 2]);
        let rows = places.map(|place| place.chunks_exact(quarters.stride));
        let [one, other] = rows;
        for ((out, a), b) in first.iter_mut().zip(one).zip(other) {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = mean(*a, *b);
            }
        }
        Self { own, first, corner }
    }

    /// Returns the sum of absolute differences from the mean of both predictions, if `vector` is the second vector.
    pub(super) fn difference(&self, quarters: &Quarters, vector: Vector) -> u32 {
        let places = quarters.places(self.corner.map(usize::cast_signed), vector, [BLOCK_SIDE; 2]);
        widest!(difference_to_mean(self.own, &self.first, places, quarters.stride))
    }
}

/// Sums twice the differences, so that no mean is rounded, column by column in 16 bits.
#[inline(always)]
fn difference_to_mean(
    own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
    before: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
    [first, second]: [&[u8]; 2],
    stride: usize,
) -> u32 {
    let mut columns = [0_u16; BLOCK_SIDE];
    let rows = first.chunks_exact(stride).zip(second.chunks_exact(stride));
    for (((a, b), own), before) in rows.zip(own).zip(before) {
        let (Some(a), Some(b)) = (a.first_chunk::<BLOCK_SIDE>(), b.first_chunk::<BLOCK_SIDE>()) else { break };
        for i in 0..BLOCK_SIDE {
            let both = u16::from(mean(a[i], b[i])) + u16::from(before[i]);
            columns[i] += both.abs_diff(2 * u16::from(own[i]));
        }
    }
    columns.iter().map(|column| u32::from(*column)).sum::<u32>() / 2
}

#[inline(always)]
fn round(samples: &[i16], out: &mut [u8]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = eight_bits(*sample));
}

#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "it is clipped")]
fn eight_bits(sample: i16) -> u8 {
    (((sample + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS) + 128).clamp(0, 255) as u8
}

/// Returns the samples that have as many neighbours, `step` apart, on both sides as the taps need.
fn between_mut(samples: &mut [u8], step: usize) -> &mut [u8] {
    let count = samples.len().saturating_sub(5 * step);
    samples.get_mut(2 * step..2 * step + count).unwrap_or_default()
}

/// Interpolates between samples `step` apart, with six taps, from the first of `from` on.
#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "it is clipped")]
fn between(from: &[u8], step: usize, out: &mut [u8]) {
    if out.is_empty() {
        return;
    }
    let taps: [&[u8]; 6] = std::array::from_fn(|tap| &from[tap * step..][..out.len()]);
    for (at, out) in out.iter_mut().enumerate() {
        let pair = |near: usize| i16::from(taps[near][at]) + i16::from(taps[5 - near][at]);
        *out = ((pair(0) - 5 * pair(1) + 20 * pair(2) + 16) >> 5).clamp(0, 255) as u8;
    }
}
