//! Searches vectors of blocks and partitions by absolute differences and estimated bits.

use crate::motion::field::{BLOCK_SIDE, Field, PARTITION_SIDE};
use crate::motion::reference::BySource;
use crate::motion::search::cost;
use crate::motion::search::difference::Differences;
use crate::motion::search::pyramid::CoarseVector;
use crate::motion::search::quarters::Quarters;
use crate::motion::search::search_parameters::SearchParameters;
use crate::motion::vector::Vector;
use crate::parallel;
use crate::picture::Size;
use crate::simd::with_instructions;

/// Rows of blocks that one job searches: blocks of a job know each other's vectors.
pub(super) const PIECE_BLOCK_ROWS: usize = 6;

/// The fewest bits of partitions' vectors. A block whose whole prediction costs less is not searched by partitions.
const BITS_OF_CELLS: u32 = 16;

/// A frame's luma, continued to whole blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    stride: usize,
    luma: Vec<u8>,
}

/// The motion candidates that the search found for a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MotionCandidate {
    pub(super) whole: Vector,
    pub(super) partitions: [Vector; 4],
}

impl Blocks {
    pub(super) fn reset(&mut self, size: Size, luma: &[u8]) {
        let [across, down] = Field::grid(size);
        self.stride = across * BLOCK_SIDE;
        self.luma.clear();
        for y in 0..down * BLOCK_SIDE {
            let row = &luma[y.min(size.height() - 1) * size.width()..][..size.width()];
            self.luma.extend_from_slice(row);
            self.luma.resize((y + 1) * self.stride, row[size.width() - 1]);
        }
    }

    /// Returns the `N` x `N` samples at this corner.
    pub(super) fn square<const N: usize>(&self, [x, y]: [usize; 2]) -> [[u8; N]; N] {
        let mut square = [[0; N]; N];
        for (row, out) in square.iter_mut().enumerate() {
            out.copy_from_slice(self.row([x, y + row], N));
        }
        square
    }

    /// Returns `count` samples from this place on.
    pub(super) fn row(&self, [x, y]: [usize; 2], count: usize) -> &[u8] {
        &self.luma[y * self.stride + x..][..count]
    }

    /// Finds the vectors of all blocks.
    pub(super) fn search(
        &self,
        aim: &SearchParameters,
        rough: &[CoarseVector],
        quarters: &BySource<Quarters>,
        field: &Field,
        found: &mut [MotionCandidate],
    ) {
        let rows = PIECE_BLOCK_ROWS * field.across;
        let pieces = found.chunks_mut(rows).enumerate();
        parallel::for_each(&aim.threads, pieces, |(piece, found)| {
            let piece = Piece { blocks: self, lambda: aim.lambda, rough, quarters, field, first: piece * rows };
            with_instructions!(|all| piece.search(all, found));
        });
    }
}

/// The blocks of one job.
struct Piece<'a> {
    blocks: &'a Blocks,
    lambda: u32,
    rough: &'a [CoarseVector],
    quarters: &'a BySource<Quarters>,
    field: &'a Field,
    /// The number of the first block.
    first: usize,
}

impl Piece<'_> {
    #[inline(always)]
    fn search(&self, instructions: impl Differences, found: &mut [MotionCandidate]) {
        for at in 0..found.len() {
            // Also blocks that are predicted from nothing: another rendition may move them.
            found[at] = self.find(instructions, found, at);
        }
    }

    #[inline(always)]
    fn find(&self, instructions: impl Differences, found: &[MotionCandidate], at: usize) -> MotionCandidate {
        let Self { blocks, lambda, rough, field, .. } = *self;
        let (number, across) = (self.first + at, field.across);
        let quarters = self.quarters.of(field.sources[number]);
        let left = if at.is_multiple_of(across) { Vector::ZERO } else { found[at - 1].whole };
        let above = at.checked_sub(across).map_or(left, |above| found[above].whole);
        let corner = at.checked_sub(across - 1).filter(|_| number % across + 1 < across);
        let corner = corner.map_or(left, |at| found[at].whole);
        let predicted = Vector::median(left, above, corner);
        let starts = [Vector::ZERO, predicted, left, above, corner, rough[number].vector];
        let first = [number % across, number / across].map(|at| at * BLOCK_SIDE);
        let own = blocks.square::<BLOCK_SIDE>(first);
        let difference = |vector| quarters.of_block(instructions, &own, first, vector).iter().sum();
        let (whole, difference) = Descent { difference, predicted, lambda }.run(&starts, 12);
        if difference <= lambda * BITS_OF_CELLS / 16 {
            return MotionCandidate { whole, partitions: [whole; 4] };
        }
        let mut partitions = [whole; 4];
        for (partition, out) in partitions.iter_mut().enumerate() {
            let corner = [first[0] + partition % 2 * PARTITION_SIDE, first[1] + partition / 2 * PARTITION_SIDE];
            let own = blocks.square::<PARTITION_SIDE>(corner);
            let difference = |vector| quarters.of_partition(instructions, &own, corner, vector);
            let descent = Descent { difference, predicted: whole, lambda };
            (*out, _) = descent.run(&[whole, predicted, left, above], 4);
        }
        MotionCandidate { whole, partitions }
    }
}

/// A descent for one block or partition, whose sum of absolute differences `difference` returns.
struct Descent<F> {
    difference: F,
    predicted: Vector,
    lambda: u32,
}

/// The best vector so far.
struct Best {
    vector: Vector,
    cost: u32,
    difference: u32,
}

impl<F: Fn(Vector) -> u32> Descent<F> {
    /// Searches from the best of `starts`: whole samples for at most `steps` steps, then halves, then quarters. Returns
    /// the best vector, and its difference.
    #[inline(always)]
    fn run(&self, starts: &[Vector], steps: usize) -> (Vector, u32) {
        let mut reach = 8;
        let mut best = Best { vector: Vector::ZERO, cost: u32::MAX, difference: u32::MAX };
        for (at, start) in starts.iter().enumerate() {
            if !starts[..at].contains(start) {
                self.try_one(*start, &mut best);
            }
        }
        let whole = |part: i16| part.saturating_add(2) >> 2 << 2;
        self.try_one(Vector { x: whole(best.vector.x), y: whole(best.vector.y) }, &mut best);
        for _ in 0..steps {
            let from = best.vector;
            for (x, y) in [(reach, 0), (-reach, 0), (0, reach), (0, -reach)] {
                self.try_one(from.plus(Vector { x, y }), &mut best);
            }
            if best.vector == from {
                reach /= 2;
            }
            if reach < 4 {
                break;
            }
        }
        for reach in [2, 1] {
            let from = best.vector;
            let [left, right, up, down] = [(-reach, 0), (reach, 0), (0, -reach), (0, reach)]
                .map(|(x, y)| self.try_one(from.plus(Vector { x, y }), &mut best));
            let x = if left < right { -reach } else { reach };
            let y = if up < down { -reach } else { reach };
            self.try_one(from.plus(Vector { x, y }), &mut best);
        }
        (best.vector, best.difference)
    }

    /// Returns the vector's cost, or that of its bits alone if these already cost as much as the best.
    #[inline(always)]
    fn try_one(&self, vector: Vector, best: &mut Best) -> u32 {
        let bits = self.lambda * cost::of_difference(vector, self.predicted) / 16;
        if bits >= best.cost {
            return bits;
        }
        let difference = (self.difference)(vector);
        let cost = bits + difference;
        if cost < best.cost {
            *best = Best { vector, cost, difference };
        }
        cost
    }
}
