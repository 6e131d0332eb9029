//! Searches vectors of blocks and partitions by absolute differences and estimated bits.

use crate::motion::field::{BLOCK, Field, PARTITION_SIDE, Source};
use crate::motion::reference::BySource;
use crate::motion::search::cost;
use crate::motion::search::pyramid::CoarseVector;
use crate::motion::search::quarters::Quarters;
use crate::motion::search::search_parameters::SearchParameters;
use crate::motion::vector::Vector;
use crate::parallel;
use crate::picture::Size;

/// Rows of blocks that one job searches: blocks of a job know each other's vectors.
const PIECE_BLOCK_ROWS: usize = 6;

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
        self.stride = across * BLOCK;
        self.luma.clear();
        for y in 0..down * BLOCK {
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
            for at in 0..found.len() {
                let number = piece * rows + at;
                let source = field.sources[number];
                if source == Source::Constant {
                    continue;
                }
                let quarters = quarters.of(source);
                let place = [number % field.across, number / field.across];
                found[at] = self.find(aim, rough[number].vector, quarters, found, at, field.across, place);
            }
        });
    }

    #[expect(clippy::too_many_arguments, reason = "all that is known of one block")]
    fn find(
        &self,
        aim: &SearchParameters,
        rough: Vector,
        quarters: &Quarters,
        found: &[MotionCandidate],
        at: usize,
        across: usize,
        place: [usize; 2],
    ) -> MotionCandidate {
        let left = if at.is_multiple_of(across) { Vector::ZERO } else { found[at - 1].whole };
        let above = at.checked_sub(across).map_or(left, |above| found[above].whole);
        let corner = at.checked_sub(across - 1).filter(|_| place[0] + 1 < across).map_or(left, |at| found[at].whole);
        let predicted = Vector::median(left, above, corner);
        let starts = [Vector::ZERO, predicted, left, above, corner, rough];
        let first = place.map(|at| at * BLOCK);
        let descent =
            Descent { quarters, own: self.square::<BLOCK>(first), corner: first, predicted, lambda: aim.lambda };
        let whole = descent.run(&starts, 12);
        if quarters.difference(&descent.own, first, whole) <= aim.lambda * BITS_OF_CELLS / 16 {
            return MotionCandidate { whole, partitions: [whole; 4] };
        }
        let partitions = std::array::from_fn(|partition| {
            let corner = [first[0] + partition % 2 * PARTITION_SIDE, first[1] + partition / 2 * PARTITION_SIDE];
            Descent {
                quarters,
                own: self.square::<PARTITION_SIDE>(corner),
                corner,
                predicted: whole,
                lambda: aim.lambda,
            }
            .run(&[whole, predicted, left, above], 4)
        });
        MotionCandidate { whole, partitions }
    }
}

/// A descent for one block or partition.
struct Descent<'a, const N: usize> {
    quarters: &'a Quarters,
    own: [[u8; N]; N],
    corner: [usize; 2],
    predicted: Vector,
    lambda: u32,
}

impl<const N: usize> Descent<'_, N> {
    /// Searches from the best of `starts`: whole samples for at most `steps` steps, then halves, then quarters.
    fn run(&self, starts: &[Vector], steps: usize) -> Vector {
        let mut reach = 8;
        let mut best = (Vector::ZERO, u32::MAX);
        for (at, start) in starts.iter().enumerate() {
            if !starts[..at].contains(start) {
                self.try_one(*start, &mut best);
            }
        }
        let whole = |part: i16| part.saturating_add(2) >> 2 << 2;
        self.try_one(Vector { x: whole(best.0.x), y: whole(best.0.y) }, &mut best);
        for _ in 0..steps {
            let from = best.0;
            for (x, y) in [(reach, 0), (-reach, 0), (0, reach), (0, -reach)] {
                self.try_one(from.plus(Vector { x, y }), &mut best);
            }
            if best.0 == from {
                reach /= 2;
            }
            if reach < 4 {
                break;
            }
        }
        for reach in [2, 1] {
            let from = best.0;
            let [left, right, up, down] = [(-reach, 0), (reach, 0), (0, -reach), (0, reach)]
                .map(|(x, y)| self.try_one(from.plus(Vector { x, y }), &mut best));
            let x = if left < right { -reach } else { reach };
            let y = if up < down { -reach } else { reach };
            self.try_one(from.plus(Vector { x, y }), &mut best);
        }
        best.0
    }

    /// Returns the vector's cost, or that of its bits alone if these already cost as much as the best.
    fn try_one(&self, vector: Vector, best: &mut (Vector, u32)) -> u32 {
        let bits = self.lambda * cost::of_difference(vector, self.predicted) / 16;
        if bits >= best.1 {
            return bits;
        }
        let cost = bits + self.quarters.difference(&self.own, self.corner, vector);
        if cost < best.1 {
            *best = (vector, cost);
        }
        cost
    }
}
