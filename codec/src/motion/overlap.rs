//! Prediction of a plane from moved cells whose windows overlap (spec, "Prediction").
//!
//! Prior art: overlapped block motion compensation (Orchard and Sullivan, "Overlapped block motion compensation: an
//! estimation-theoretic approach", IEEE Trans. Image Processing 3(5), 1994), with windows that rise and fall linearly.

use crate::motion::field::{BLOCK, Block, CELL, CONSTANTS, Field, Source};
use crate::motion::interpolate::{MAX_SIDE, Window};
use crate::motion::reference::{FRACTION, Plane};
use crate::motion::vector::Vector;

/// Room for one prediction after another.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    /// Sums of samples times weights, for the rows that a row of blocks reaches.
    sums: Vec<i32>,
    window: Window,
}

/// One of the three planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Luma,
    Chroma,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Luma, Self::Chroma, Self::Chroma];

    /// Samples of a cell's side.
    const fn cell(self) -> usize {
        match self {
            Self::Luma => CELL,
            Self::Chroma => CELL / 2,
        }
    }

    /// Bits of the sum of the weights at a sample, along one axis.
    const fn weight_bits(self) -> u32 {
        2 * self.cell().ilog2() + 2
    }
}

/// A block or a cell of it: all of it moves alike.
struct Unit {
    /// First cell, and cells of a side.
    cell: [usize; 2],
    cells: usize,
    motion: Motion,
}

#[derive(Clone, Copy)]
enum Motion {
    Moved(Vector),
    /// In 1/64 of a step.
    Constant(i16),
}

impl Overlap {
    /// Makes `out` the prediction of one plane from the loop's and the floor's; its borders are not continued.
    pub(crate) fn predict(
        &mut self,
        field: &Field,
        kind: Kind,
        from_loop: &Plane,
        from_floor: &Plane,
        out: &mut Plane,
    ) {
        let side = kind.cell();
        let width = field.across * 2 * side;
        let reach = 2 * side + side;
        self.sums.clear();
        self.sums.resize(reach * width, 0);
        let shift = kind.weight_bits() + FRACTION;
        let mut done = 0;
        for by in 0..field.down {
            let top = (by * 2 * side).cast_signed() - (side / 2).cast_signed();
            for bx in 0..field.across {
                let at = by * field.across + bx;
                let from = if field.sources[at] == Source::Loop { from_loop } else { from_floor };
                let mut sums = Sums { all: &mut self.sums, width, corner: [0, top] };
                let mut sampler = Exact { window: &mut self.window, plane: from, kind };
                sums.add(&mut sampler, field, kind, [bx, by], &field.blocks[at]);
            }
            let last = by + 1 == field.down;
            let end = if last { out.height } else { (2 * (by + 1) * side - side / 2).min(out.height) };
            for y in done..end {
                let sums = &self.sums[(y.cast_signed() - top).cast_unsigned() * width..][..out.width];
                out.row_mut(y).iter_mut().zip(sums).for_each(|(out, sum)| *out = rounded(*sum, shift));
            }
            done = done.max(end);
            self.sums.copy_within(2 * side * width.., 0);
            self.sums[side * width..].fill(0);
        }
    }
}

/// Sums of samples times weights: rows of `width`.
pub(super) struct Sums<'a> {
    pub(super) all: &'a mut [i32],
    pub(super) width: usize,
    /// Column and row of the first.
    pub(super) corner: [isize; 2],
}

/// Gives samples of a reference, moved, in 1/64 of a step.
pub(super) trait Sampler {
    /// `side[0]` x `side[1]` samples, the first of which is at `corner` moved by `vector`, row by row.
    fn fetch(&mut self, corner: [isize; 2], vector: Vector, side: [usize; 2]) -> &[i16];
}

/// As the specification has them.
pub(super) struct Exact<'a> {
    pub(super) window: &'a mut Window,
    pub(super) plane: &'a Plane,
    pub(super) kind: Kind,
}

impl Sampler for Exact<'_> {
    fn fetch(&mut self, corner: [isize; 2], vector: Vector, side: [usize; 2]) -> &[i16] {
        self.window.fetch(self.plane, self.kind == Kind::Luma, corner, vector, side)
    }
}

impl Sums<'_> {
    /// Adds what the block in this column and row gives.
    pub(super) fn add(
        &mut self,
        sampler: &mut impl Sampler,
        field: &Field,
        kind: Kind,
        place: [usize; 2],
        block: &Block,
    ) {
        for unit in units(block, kind, place).into_iter().flatten() {
            let side = kind.cell();
            let [(left, across), (upper, down)] = [0, 1].map(|axis| {
                let last = 2 * [field.across, field.down][axis];
                Weights::new(unit.cell[axis], unit.cells, last, side)
            });
            let sides = [across.count, down.count];
            let first = (upper - self.corner[1]).cast_unsigned() * self.width + (left - self.corner[0]).cast_unsigned();
            let rows = self.all[first..].chunks_mut(self.width).zip(&down.values[..sides[1]]);
            let across = &across.values[..sides[0]];
            match unit.motion {
                Motion::Moved(vector) => {
                    let samples = sampler.fetch([left, upper], vector, sides);
                    for ((sums, down), samples) in rows.zip(samples.chunks_exact(sides[0])) {
                        for ((sum, sample), across) in sums.iter_mut().zip(samples).zip(across) {
                            *sum += i32::from(*sample) * i32::from(across * down);
                        }
                    }
                }
                Motion::Constant(level) => {
                    for (sums, down) in rows {
                        for (sum, across) in sums.iter_mut().zip(across) {
                            *sum += i32::from(level) * i32::from(across * down);
                        }
                    }
                }
            }
        }
    }
}

/// Weights along one axis.
struct Weights {
    values: [i16; MAX_SIDE],
    count: usize,
}

impl Weights {
    /// Of `cells` cells from `first` on, of `last` in the frame; and where the first weight is.
    ///
    /// They rise over the samples nearest to a border, to `2 * side` in all, and fall alike; outermost cells have no
    /// neighbour there.
    fn new(first: usize, cells: usize, last: usize, side: usize) -> (isize, Self) {
        let before = if first == 0 { 0 } else { side / 2 };
        let after = if first + cells == last { 0 } else { side / 2 };
        let count = before + cells * side + after;
        let full = 2 * side;
        let mut values = [0; MAX_SIDE];
        for (at, value) in values[..count].iter_mut().enumerate() {
            let rise = if before > 0 { 2 * at + 1 } else { full };
            let fall = if after > 0 { 2 * (count - 1 - at) + 1 } else { full };
            *value = i16::try_from(rise.min(fall).min(full)).unwrap_or_default();
        }
        ((first * side).cast_signed() - before.cast_signed(), Self { values, count })
    }
}

/// The parts of a block that move alike.
fn units(block: &Block, kind: Kind, [bx, by]: [usize; 2]) -> [Option<Unit>; 4] {
    let whole = |motion| [Some(Unit { cell: [2 * bx, 2 * by], cells: 2, motion }), None, None, None];
    match (block, block.one_vector()) {
        (Block::Constant(level), _) => whole(Motion::Constant(constant(kind, *level))),
        (_, Some(vector)) => whole(Motion::Moved(vector)),
        (Block::Moved(vectors), None) => std::array::from_fn(|at| {
            let motion = Motion::Moved(vectors[at]);
            Some(Unit { cell: [2 * bx + at % 2, 2 * by + at / 2], cells: 1, motion })
        }),
    }
}

/// In 1/64 of a step, less 128.
fn constant(kind: Kind, level: u8) -> i16 {
    match kind {
        Kind::Luma => (i16::from(level.min(CONSTANTS - 1)) * 4 - 128) << (2 * FRACTION),
        Kind::Chroma => 0,
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a mean of 16-bit values has 16 bits")]
const fn rounded(sum: i32, shift: u32) -> i16 {
    ((sum + (1 << (shift - 1))) >> shift) as i16
}

const _: () = assert!(MAX_SIDE == BLOCK + CELL, "a block and what its windows overlap");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::reference::Reference;
    use crate::picture::Size;

    /// The specification's formula, a sample at a time.
    fn naive(field: &Field, kind: Kind, from: &Plane, x: usize, y: usize) -> i16 {
        let side = kind.cell();
        let mut window = Window::default();
        let mut sum = 0;
        let near = |at: usize, last: usize| {
            let (cell, within) = (at / side, at % side);
            let other = if within < side / 2 { cell.saturating_sub(1) } else { (cell + 1).min(last - 1) };
            let away = if within < side / 2 { side - 1 - 2 * within } else { 2 * within + 1 - side };
            [(cell, 2 * side - away), (other, away)]
        };
        for (cy, wy) in near(y, 2 * field.down) {
            for (cx, wx) in near(x, 2 * field.across) {
                let block = &field.blocks[cy / 2 * field.across + cx / 2];
                let value = match (block, block.vector(cy % 2 * 2 + cx % 2)) {
                    (_, Some(vector)) => {
                        let corner = [x.cast_signed(), y.cast_signed()];
                        window.fetch(from, kind == Kind::Luma, corner, vector, [1, 1])[0]
                    }
                    (Block::Constant(level), _) => constant(kind, *level),
                    (Block::Moved(_), None) => unreachable!("it has vectors"),
                };
                sum += i32::from(value) * i32::try_from(wx * wy).expect("small");
            }
        }
        rounded(sum, kind.weight_bits() + FRACTION)
    }

    #[test]
    fn windows_of_blocks_and_cells_give_what_the_formula_gives_at_every_sample() {
        let random = |seed: &mut u32| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(*seed >> 20).expect("12 bits")
        };
        let mut seed = 1;
        for (width, height) in [(1, 1), (17, 16), (50, 37), (64, 33)] {
            let size = Size::new(width, height).expect("a valid size");
            let mut reference = Reference::new(size);
            for plane in &mut reference.planes {
                for y in 0..plane.height {
                    plane.row_mut(y).fill_with(|| random(&mut seed) % 1016);
                }
                plane.continue_borders();
            }
            let mut field = Field::default();
            field.reset(size, 0);
            for block in &mut field.blocks {
                let mut vector = || Vector { x: random(&mut seed) % 300 - 150, y: random(&mut seed) % 300 - 150 };
                let vectors = std::array::from_fn(|_| vector());
                *block = match vectors[0].x & 3 {
                    0 => Block::Constant(u8::try_from(vectors[1].x & 63).expect("six bits")),
                    1 => Block::Moved(vectors),
                    _ => Block::whole(vectors[0]),
                };
            }
            for (kind, plane) in Kind::ALL.into_iter().zip(&reference.planes) {
                let mut out = Plane::new(plane.width, plane.height);
                Overlap::default().predict(&field, kind, plane, plane, &mut out);
                for y in 0..plane.height {
                    for (x, value) in out.row(y).iter().enumerate() {
                        assert_eq!(*value, naive(&field, kind, plane, x, y), "{kind:?} {width}x{height} at {x}, {y}");
                    }
                }
            }
        }
    }
}
