//! Predicts a plane from moved partitions whose windows overlap (spec, "Prediction").
//!
//! Prior art: overlapped block motion compensation (Orchard and Sullivan, "Overlapped block motion compensation: an
//! estimation-theoretic approach", IEEE Trans. Image Processing 3(5), 1994), with windows that rise and fall linearly.

use std::ops::Range;

use crate::motion::field::{BLOCK_SIDE, Block, CONSTANT_LEVELS, Field, PARTITION_SIDE};
use crate::motion::interpolate::{MAX_ROW, MAX_SIDE, Window, row_length};
use crate::motion::reference::{BySource, FRACTION_BITS, Past, Plane, RowsMut};
use crate::motion::vector::Vector;
use crate::scratch::Scratch;
use crate::simd::widest;

/// One of the three planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Luma,
    Chroma,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Luma, Self::Chroma, Self::Chroma];

    /// The side of a partition in samples.
    const fn partition(self) -> usize {
        match self {
            Self::Luma => PARTITION_SIDE,
            Self::Chroma => PARTITION_SIDE / 2,
        }
    }

    /// Fraction bits of a vector.
    const fn vector_bits(self) -> u32 {
        match self {
            Self::Luma => 2,
            Self::Chroma => 3,
        }
    }

    /// Bits of the sum of the weights at a sample, along one axis.
    const fn weight_bits(self) -> u32 {
        2 * self.partition().ilog2() + 2
    }
}

/// Partitions that move as one: one, a block, or a run of blocks.
pub(super) struct Unit {
    /// The first partition, and the number of partitions across and down.
    partition: [usize; 2],
    pub(super) partitions: [usize; 2],
    pub(super) motion: Motion,
}

#[derive(Clone, Copy)]
pub(super) enum Motion {
    Moved(Vector),
    /// The mean of two predictions.
    Bipredicted([Vector; 2]),
    /// A constant in 1/64 of a step.
    Constant(i16),
}

/// Returns the rows of a plane, of `height` rows, that [`predict`] fills in for these rows of blocks.
pub(crate) fn rows(kind: Kind, blocks: &Range<usize>, down: usize, height: usize) -> Range<usize> {
    let side = kind.partition();
    // The rows above are those to which the blocks below contribute too.
    let first =
        |block: usize| if block == down { height } else { (2 * block * side).saturating_sub(side / 2).min(height) };
    first(blocks.start)..first(blocks.end)
}

/// Predicts some rows of blocks of one plane, whose height is `height`, from the references' planes into `out`, which
/// has the rows that [`rows`] returns. Predicts the row of blocks above them again, because it overlaps them.
pub(crate) fn predict(
    field: &Field,
    kind: Kind,
    references: BySource<Past<&Plane>>,
    (blocks, height): (Range<usize>, usize),
    room: &Scratch<i32>,
    out: &mut RowsMut<'_>,
) {
    let side = kind.partition();
    let width = field.across * 2 * side;
    // The rows that a row of blocks covers with its overlap.
    let reach = 2 * side + side;
    let shift = kind.weight_bits() + FRACTION_BITS;
    let own = rows(kind, &blocks, field.down, height);
    let mut windows = [Window::default(), Window::default()];
    room.lend(reach * width + MAX_ROW, |all| {
        all.fill(0);
        let mut done = own.start;
        for by in blocks.start.saturating_sub(1)..blocks.end {
            let top = (by * 2 * side).cast_signed() - (side / 2).cast_signed();
            let mut bx = 0;
            while bx < field.across {
                let at = by * field.across + bx;
                let from = *references.of(field.sources[at]);
                let count = run(field, kind, from, [bx, by]);
                let mut sums = Sums { all, width, top };
                sums.add(&mut windows, from, field, kind, [bx, by], count);
                bx += count;
            }
            let end = rows(kind, &(by..by + 1), field.down, height).end.max(done);
            for y in done..end {
                let out = out.row_mut(y - own.start);
                let sums = &all[(y.cast_signed() - top).cast_unsigned() * width..][..out.len()];
                widest!(round(sums, shift, out));
            }
            done = end;
            all.copy_within(2 * side * width..reach * width, 0);
            all[side * width..].fill(0);
        }
    });
}

/// Returns how many blocks from this column and row on, up to [`MAX_RUN`], move alike and in what their planes reach.
fn run(field: &Field, kind: Kind, from: Past<&Plane>, [bx, by]: [usize; 2]) -> usize {
    let at = by * field.across + bx;
    let (block, source) = (&field.blocks[at], field.sources[at]);
    let most = MAX_RUN.min(field.across - bx);
    let alike = |next: &usize| field.blocks[at + next] == *block && field.sources[at + next] == source;
    let count = 1 + (1..most).take_while(alike).count();
    let side = kind.partition().cast_signed();
    let [first, end] = [bx, bx + count].map(|bx| 2 * bx.cast_signed() * side);
    let reaches = |plane: &Plane, vector: Vector| {
        plane.reaches(&(first - side / 2..end + side / 2), vector.x >> kind.vector_bits())
    };
    // A run as wide as the frame has no neighbours and other lengths of rows; such frames are small.
    let are_one = count > 1
        && count < field.across
        && match (block, block.one_vector()) {
            (Block::Constant(_), _) => true,
            (Block::Bipredicted([last, before]), _) => reaches(from.last, *last) && reaches(from.before, *before),
            (_, vector) => vector.is_some_and(|vector| reaches(from.last, vector)),
        };
    if are_one { count } else { 1 }
}

/// Sums of samples times weights: rows of `width`.
struct Sums<'a> {
    /// The rows, and [`MAX_ROW`] more after the last, to which nothing is added.
    all: &'a mut [i32],
    width: usize,
    /// The number of the first row.
    top: isize,
}

impl Sums<'_> {
    /// Adds the contributions of some blocks from the one in this column and row on, all of which move as it does.
    fn add(
        &mut self,
        windows: &mut [Window; 2],
        from: Past<&Plane>,
        field: &Field,
        kind: Kind,
        place: [usize; 2],
        count: usize,
    ) {
        let ([window, other], luma) = (windows, kind == Kind::Luma);
        let block = &field.blocks[place[1] * field.across + place[0]];
        for mut unit in units(block, kind, place).into_iter().flatten() {
            unit.partitions[0] *= count;
            let [(left, across), (upper, down)] = Weights::of_unit(&unit, field, kind);
            let first = (upper - self.top).cast_unsigned() * self.width + left.cast_unsigned();
            let all = &mut self.all[first..];
            let down = down.as_slice();
            let corner = [left, upper];
            let sides = [across.count, down.len()];
            let samples = match unit.motion {
                Motion::Moved(vector) => window.fetch(from.last, luma, corner, vector, sides),
                Motion::Bipredicted(vectors) => window.fetch_mean(other, from, luma, corner, vectors, sides),
                Motion::Constant(level) => window.fill(level),
            };
            match row_length(across.count) {
                8 => widest!(add_rows::<8>(all, self.width, samples, across.first(), down)),
                16 => widest!(add_rows::<16>(all, self.width, samples, across.first(), down)),
                32 => widest!(add_rows::<32>(all, self.width, samples, across.first(), down)),
                40 => widest!(add_rows::<40>(all, self.width, samples, across.first(), down)),
                MAX_ROW => {
                    widest!(add_rows::<MAX_ROW>(all, self.width, samples, across.first(), down));
                }
                _ => widest!(add_rows::<MAX_SIDE>(all, self.width, samples, across.first(), down)),
            }
        }
    }
}

/// Adds rows of samples times the weights of their column and row. Weights after a block's last column are zero.
#[inline(always)]
fn add_rows<const LENGTH: usize>(
    sums: &mut [i32],
    width: usize,
    samples: &[i16],
    across: &[i16; LENGTH],
    down: &[i16],
) {
    for (row, (samples, down)) in samples.as_chunks::<LENGTH>().0.iter().zip(down).enumerate() {
        let Some(sums) = sums[row * width..].first_chunk_mut::<LENGTH>() else {
            debug_assert!(false, "the rows have room after the last");
            return;
        };
        for i in 0..LENGTH {
            sums[i] += i32::from(samples[i]) * i32::from(across[i] * down);
        }
    }
}

/// Weights along one axis, zero after the last.
pub(super) struct Weights {
    values: [i16; MAX_ROW],
    count: usize,
}

/// The most blocks that are predicted at once.
const MAX_RUN: usize = 3;
const _: () = assert!(MAX_ROW == MAX_RUN * BLOCK_SIDE + PARTITION_SIDE, "a run and what its window overlaps");

/// By kind of plane, by number of blocks (or 0 for one partition), and by whether there is a neighbour before and
/// after.
static WINDOW_WEIGHTS: [[[[Weights; 2]; 2]; MAX_RUN + 1]; 2] = {
    const fn of_partitions(side: usize, partitions: usize) -> [[Weights; 2]; 2] {
        let alone = [Weights::new(side, partitions, false, false), Weights::new(side, partitions, false, true)];
        [alone, [Weights::new(side, partitions, true, false), Weights::new(side, partitions, true, true)]]
    }
    const fn of_kind(kind: Kind) -> [[[Weights; 2]; 2]; MAX_RUN + 1] {
        let side = kind.partition();
        [of_partitions(side, 1), of_partitions(side, 2), of_partitions(side, 4), of_partitions(side, 6)]
    }
    [of_kind(Kind::Luma), of_kind(Kind::Chroma)]
};

impl Weights {
    /// Returns a unit's weights, across and down, each with the place of the first.
    pub(super) fn of_unit(unit: &Unit, field: &Field, kind: Kind) -> [(isize, &'static Self); 2] {
        [0, 1].map(|axis| {
            let last = 2 * [field.across, field.down][axis];
            Self::of(unit.partition[axis], unit.partitions[axis], last, kind)
        })
    }

    pub(super) fn as_slice(&self) -> &[i16] {
        &self.values[..self.count]
    }

    /// Returns the first `LENGTH` weights, zero after the last.
    pub(super) fn first<const LENGTH: usize>(&self) -> &[i16; LENGTH] {
        self.values.first_chunk().expect("no longer than the longest")
    }

    /// Returns the weights of `partitions` partitions from `first` on, of `last` in the frame, and the place of the
    /// first weight. Outermost partitions have no neighbour on one side.
    fn of(first: usize, partitions: usize, last: usize, kind: Kind) -> (isize, &'static Self) {
        let side = kind.partition();
        let before = first > 0;
        let after = first + partitions < last;
        let weights =
            &WINDOW_WEIGHTS[usize::from(kind == Kind::Chroma)][partitions / 2][usize::from(before)][usize::from(after)];
        let overlap = if before { side / 2 } else { 0 };
        ((first * side).cast_signed() - overlap.cast_signed(), weights)
    }

    /// Makes weights that rise over the samples nearest to a border, to `2 * side` in all, and fall in the same way.
    #[expect(clippy::cast_possible_truncation, reason = "16 at most")]
    const fn new(side: usize, partitions: usize, before: bool, after: bool) -> Self {
        let overlaps = before as usize + after as usize;
        let count = partitions * side + overlaps * (side / 2);
        let full = 2 * side;
        let mut values = [0; MAX_ROW];
        let mut at = 0;
        while at < count {
            let rise = if before { 2 * at + 1 } else { full };
            let fall = if after { 2 * (count - 1 - at) + 1 } else { full };
            let nearest = if rise < fall { rise } else { fall };
            values[at] = if nearest < full { nearest } else { full } as i16;
            at += 1;
        }
        Self { values, count }
    }
}

/// Returns the parts of a block that each move as one.
pub(super) fn units(block: &Block, kind: Kind, [bx, by]: [usize; 2]) -> [Option<Unit>; 4] {
    let whole = |motion| [Some(Unit { partition: [2 * bx, 2 * by], partitions: [2, 2], motion }), None, None, None];
    match (block, block.one_vector()) {
        (Block::Constant(level), _) => whole(Motion::Constant(constant(kind, *level))),
        (Block::Bipredicted(vectors), _) => whole(Motion::Bipredicted(*vectors)),
        (_, Some(vector)) => whole(Motion::Moved(vector)),
        (Block::Moved(vectors), None) => std::array::from_fn(|at| {
            let motion = Motion::Moved(vectors[at]);
            Some(Unit { partition: [2 * bx + at % 2, 2 * by + at / 2], partitions: [1, 1], motion })
        }),
    }
}

/// Returns a constant in 1/64 of a step, less 128.
fn constant(kind: Kind, level: u8) -> i16 {
    match kind {
        Kind::Luma => (i16::from(level.min(CONSTANT_LEVELS - 1)) * 4 - 128) << (2 * FRACTION_BITS),
        Kind::Chroma => 0,
    }
}

#[inline(always)]
fn round(sums: &[i32], shift: u32, out: &mut [i16]) {
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = rounded(*sum, shift));
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a mean of 16-bit values has 16 bits")]
const fn rounded(sum: i32, shift: u32) -> i16 {
    ((sum + (1 << (shift - 1))) >> shift) as i16
}

const _: () = assert!(MAX_SIDE == BLOCK_SIDE + PARTITION_SIDE, "a block and what its windows overlap");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::field::Turn;
    use crate::motion::reference::Reference;
    use crate::picture::Size;

    /// Applies the specification's formula, a sample at a time.
    fn naive(field: &Field, kind: Kind, from: Past<&Plane>, x: usize, y: usize) -> i16 {
        let side = kind.partition();
        let mut window = Window::default();
        let mut sum = 0;
        let near = |at: usize, last: usize| {
            let partition = at / side;
            let within = at % side;
            let other = if within < side / 2 { partition.saturating_sub(1) } else { (partition + 1).min(last - 1) };
            let away = if within < side / 2 { side - 1 - 2 * within } else { 2 * within + 1 - side };
            [(partition, 2 * side - away), (other, away)]
        };
        for (cy, wy) in near(y, 2 * field.down) {
            for (cx, wx) in near(x, 2 * field.across) {
                let block = &field.blocks[cy / 2 * field.across + cx / 2];
                let mut fetch = |from: &Plane, vector: Vector| {
                    window.fetch(from, kind == Kind::Luma, [x, y].map(usize::cast_signed), vector, [1, 1])[0]
                };
                let value = match block {
                    Block::Moved(vectors) => fetch(from.last, vectors[cy % 2 * 2 + cx % 2]),
                    Block::Bipredicted([first, second]) => {
                        let sum = i32::from(fetch(from.last, *first)) + i32::from(fetch(from.before, *second));
                        i16::try_from(sum >> 1).expect("a mean")
                    }
                    Block::Constant(level) => constant(kind, *level),
                };
                sum += i32::from(value) * i32::try_from(wx * wy).expect("small");
            }
        }
        rounded(sum, kind.weight_bits() + FRACTION_BITS)
    }

    #[test]
    fn windows_of_blocks_and_cells_give_what_the_formula_gives_at_every_sample() {
        let random = |seed: &mut u32| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(*seed >> 20).expect("12 bits")
        };
        let mut seed = 1;
        let sizes = [(1, 1), (17, 16), (33, 20), (50, 37), (64, 33), (130, 20)];
        for (width, height) in std::iter::repeat_n(sizes, 8).flatten() {
            let size = Size::new(width, height).expect("a valid size");
            let mut references = [Reference::new(size), Reference::new(size)];
            for plane in references.iter_mut().flat_map(|reference| &mut reference.planes) {
                for y in 0..plane.height {
                    plane.row_mut(y).fill_with(|| random(&mut seed) % 1016);
                }
                plane.continue_borders();
            }
            let mut field = Field::default();
            field.reset(size, Turn { phase: 0, renews: true }, &[]);
            let mut last = None;
            for block in &mut field.blocks {
                // Runs of blocks that move alike.
                if let Some(last) = last.filter(|_| random(&mut seed) & 3 != 0) {
                    *block = last;
                    continue;
                }
                let mut vector = || Vector { x: random(&mut seed) % 300 - 150, y: random(&mut seed) % 300 - 150 };
                let vectors = std::array::from_fn(|_| vector());
                *block = match vectors[0].x & 3 {
                    0 => Block::Constant(u8::try_from(vectors[1].x & 63).expect("six bits")),
                    1 => Block::Moved(vectors),
                    2 => Block::Bipredicted([vectors[0], vectors[1]]),
                    _ => Block::whole(vectors[0]),
                };
                last = Some(*block);
            }
            for (number, kind) in Kind::ALL.into_iter().enumerate() {
                let from = Past { last: &references[0].planes[number], before: &references[1].planes[number] };
                let mut out = Plane::new(from.last.width, from.last.height);
                let references = BySource { enhancement_reference: from, base_reference: from };
                let height = out.height;
                for band in [1, 2, field.down] {
                    let mut rest = out.rows_mut();
                    for start in (0..field.down).step_by(band) {
                        let blocks = start..(start + band).min(field.down);
                        let mut out = rest.split_off(rows(kind, &blocks, field.down, height).len());
                        predict(&field, kind, references, (blocks, height), &Scratch::default(), &mut out);
                    }
                }
                for y in 0..out.height {
                    for (x, value) in out.row(y).iter().enumerate() {
                        assert_eq!(*value, naive(&field, kind, from, x, y), "{kind:?} {width}x{height} at {x}, {y}");
                    }
                }
            }
        }
    }
}
