//! The rows of a picture that are at work while it is filtered from top to bottom, four rows at a time.

use crate::post_filter::classes::{change, class};
use crate::post_filter::kernel::{self, CHUNK, CHUNK_BLOCKS, Chunk, REACH, ROWS, SEEN, Seen};
use crate::post_filter::table::{CHROMA_TAPS, Filters, LUMA_TAPS};
use crate::post_filter::{BLOCK, FRACTION};
use crate::scratch::Arena;

/// Rows above and below a block that its class depends on.
const AROUND: usize = 3;
/// Rows at work.
const AT_WORK: usize = BLOCK + 2 * AROUND;
/// Pairs of rows whose changes count for a block, and ways in which samples change.
const PAIRS: usize = AT_WORK / 2 - 1;
const WAYS: usize = 4;
/// Columns before the first, and behind the last chunk.
const SIDE: usize = BLOCK;
/// Changes that are summed together.
const LANES: usize = 8;

/// The rows of one component around a row of blocks.
#[derive(Debug, Default)]
struct Component<'a> {
    /// Samples in 1/64, from [`AROUND`] rows above the blocks on; the outermost are repeated beyond the picture.
    rows: [&'a mut [i16]; AT_WORK],
    /// Sums of the changes in two rows, by way.
    pairs: [[&'a mut [i16]; WAYS]; PAIRS],
}

/// The rows of all components around a row of blocks.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    width: usize,
    height: usize,
    /// The first row of the blocks.
    top: usize,
    components: [Component<'a>; 3],
    count: usize,
    line: &'a mut [f32],
}

/// Where the rows of planes come from, each asked for once, from top to bottom.
pub(crate) trait PlaneRows {
    /// Makes `out` row `y` of a component.
    fn row(&mut self, component: usize, y: usize, out: &mut [f32]);
}

/// Chunks in a row of so many samples.
const fn chunks(width: usize) -> usize {
    width.div_ceil(CHUNK)
}

impl<'a> Window<'a> {
    /// Floats, and short numbers, that [`Window::new`] takes.
    pub(crate) fn numbers(width: usize, count: usize) -> [usize; 2] {
        [width, count * (AT_WORK + PAIRS * WAYS) * Self::stride(width)]
    }

    const fn stride(width: usize) -> usize {
        SIDE + chunks(width) * CHUNK + SIDE + LANES
    }

    /// At the blocks whose first row is `top`, a multiple of four.
    pub(crate) fn new(
        [width, height]: [usize; 2],
        count: usize,
        top: usize,
        rows: &mut impl PlaneRows,
        line: &mut Arena<'a>,
        arena: &mut Arena<'a, i16>,
    ) -> Self {
        let stride = Self::stride(width);
        let mut components: [Component<'a>; 3] = Default::default();
        for component in components.iter_mut().take(count) {
            component.rows.fill_with(|| arena.take(stride));
            component.pairs.iter_mut().flatten().for_each(|pair| *pair = arena.take(stride));
        }
        let mut window = Self { width, height, top, components, count, line: line.take(width) };
        window.enter(0, rows);
        window
    }

    /// Goes on to the next row of blocks.
    pub(crate) fn descend(&mut self, rows: &mut impl PlaneRows) {
        self.top += BLOCK;
        for component in &mut self.components[..self.count] {
            component.rows.rotate_left(BLOCK);
            component.pairs.rotate_left(BLOCK / 2);
        }
        self.enter(AT_WORK - BLOCK, rows);
    }

    /// Fills the rows from `first` on.
    fn enter(&mut self, first: usize, rows: &mut impl PlaneRows) {
        let Self { width, height, top, line, .. } = self;
        for (number, component) in self.components[..self.count].iter_mut().enumerate() {
            for at in first..AT_WORK {
                let Some(y) = (*top + at).checked_sub(AROUND) else { continue };
                let (before, behind) = component.rows.split_at_mut(at);
                if y < *height {
                    rows.row(number, y, line);
                    round(line, behind[0]);
                    repeat_sides(behind[0], *width);
                } else if let Some(last) = before.last() {
                    behind[0].copy_from_slice(last);
                }
            }
            let above = AROUND.saturating_sub(*top);
            component.repeat_top(above);
            component.add_changes(first.saturating_sub(2) / 2);
        }
    }

    /// Filters the rows of blocks: makes `out` rows of as many samples as the picture is wide, by component.
    /// `significance` has that of the blocks in this row, by component.
    pub(crate) fn filter(&self, filters: &Filters<'_>, significance: [&[u8]; 3], out: &mut [&mut [f32]; 3]) {
        for (component, out) in out.iter_mut().enumerate().take(self.count) {
            for chunk in 0..chunks(self.width) {
                let known = &significance[component][chunk * CHUNK_BLOCKS..];
                let classes = self.components[component].classes(chunk, filters.step, known);
                let write = |row: usize, correction: &Chunk| self.write(component, [chunk, row], correction, out);
                match component.checked_sub(1) {
                    None => self.luma(chunk, &classes, filters, write),
                    Some(of_two) => self.chroma(of_two, chunk, &classes, filters, write),
                }
            }
        }
    }

    fn luma(&self, chunk: usize, classes: &[usize], filters: &Filters<'_>, mut write: impl FnMut(usize, &Chunk)) {
        let (mut taps, mut sum) = ([[0; CHUNK]; LUMA_TAPS], [0; CHUNK]);
        for parity in 0..2 {
            kernel::side_by_side(classes.iter().map(|class| &filters.luma[2 * class + parity]), &mut taps);
            for row in [parity, parity + 2] {
                kernel::luma(&self.seen(0, chunk, row), filters.step, &taps, &mut sum);
                write(row, &sum);
            }
        }
    }

    fn chroma(
        &self,
        of_two: usize,
        chunk: usize,
        classes: &[usize],
        filters: &Filters<'_>,
        mut write: impl FnMut(usize, &Chunk),
    ) {
        let (mut taps, mut sum) = ([[0; CHUNK]; CHROMA_TAPS], [0; CHUNK]);
        for parity in 0..2 {
            kernel::side_by_side(classes.iter().map(|class| &filters.chroma[of_two][2 * class + parity]), &mut taps);
            for row in [parity, parity + 2] {
                let [own, luma, other] = [1 + of_two, 0, 2 - of_two].map(|source| self.seen(source, chunk, row));
                kernel::chroma([&own, &luma, &other], filters.step, &taps, &mut sum);
                write(row, &sum);
            }
        }
    }

    /// What the samples of a chunk in a row of its blocks see of a component.
    fn seen(&self, component: usize, chunk: usize, row: usize) -> Seen<'_> {
        let rows: &[&mut [i16]; ROWS] = self.components[component].rows[row + AROUND - REACH..]
            .first_chunk()
            .expect("there are as many rows around the blocks");
        rows.each_ref().map(|row| part(row, chunk))
    }

    /// Writes the corrected samples of a chunk in a row of its blocks.
    fn write(&self, component: usize, [chunk, row]: [usize; 2], correction: &Chunk, out: &mut [f32]) {
        const UNIT: f32 = 1.0 / (1 << FRACTION) as f32;
        let first = chunk * CHUNK;
        let here = &self.components[component].rows[row + AROUND][SIDE + first..];
        let out = &mut out[row * self.width..][first..self.width.min(first + CHUNK)];
        for ((out, &sample), &correction) in out.iter_mut().zip(here).zip(correction) {
            *out = (i32::from(sample) + i32::from(correction)) as f32 * UNIT;
        }
    }
}

impl Component<'_> {
    /// Makes the first rows, above the picture, what the first one behind them is.
    fn repeat_top(&mut self, count: usize) {
        let (above, rows) = self.rows.split_at_mut(count);
        for row in above {
            row.copy_from_slice(rows[0]);
        }
    }

    /// Sums the changes of the pairs of rows from number `first` on.
    fn add_changes(&mut self, first: usize) {
        for (number, ways) in self.pairs.iter_mut().enumerate().skip(first) {
            let rows: &[&mut [i16]; 4] = self.rows[2 * number..].first_chunk().expect("a pair has rows on both sides");
            for at in (0..rows[0].len() - LANES - 1).step_by(LANES) {
                let around = rows.each_ref().map(|row| row[at..].first_chunk().expect("rows are chunks and a margin"));
                for (way, changes) in ways.iter_mut().zip(changes_of_pair(around)) {
                    way[at + 1..at + 1 + LANES].copy_from_slice(&changes);
                }
            }
        }
    }

    /// The classes of a chunk's blocks, as many as have a significance.
    fn classes(&self, chunk: usize, step: i16, significance: &[u8]) -> [usize; CHUNK_BLOCKS] {
        let mut quarters = [[0_u32; CHUNK_BLOCKS + 1]; WAYS];
        for (way, quarters) in quarters.iter_mut().enumerate() {
            let [a, b, c, d] = self.pairs.each_ref().map(|ways| part(ways[way], chunk));
            let sums: [i16; SEEN] = std::array::from_fn(|i| a[i] + b[i] + c[i] + d[i]);
            for (quarter, sums) in quarters.iter_mut().zip(sums.as_chunks::<BLOCK>().0) {
                *quarter = sums.iter().map(|sum| u32::from(sum.unsigned_abs())).sum();
            }
        }
        let mut classes = [0; CHUNK_BLOCKS];
        for ((block, own), &significance) in classes.iter_mut().enumerate().zip(significance) {
            *own = class(quarters.map(|quarters| quarters[block] + quarters[block + 1]), step, significance);
        }
        classes
    }
}

/// The samples of a row that a chunk sees.
fn part(row: &[i16], chunk: usize) -> &[i16; SEEN] {
    row[SIDE - REACH + chunk * CHUNK..].first_chunk().expect("rows have a margin behind whole chunks")
}

/// The changes of eight samples in each of the two rows in the middle: along rows, along columns, and both diagonals.
#[inline(always)]
fn changes_of_pair(rows: [&[i16; LANES + 2]; 4]) -> [[i16; LANES]; WAYS] {
    let way = |down: usize, right: isize| -> [i16; LANES] {
        std::array::from_fn(|i| {
            let of = |y: usize| {
                let (x, y_before) = (i + 1, y - down);
                change(rows[y + down][x.wrapping_add_signed(right)], rows[y_before][x.wrapping_add_signed(-right)])
            };
            of(1) + of(2)
        })
    };
    [way(0, 1), way(1, 0), way(1, 1), way(1, -1)]
}

/// The nearest multiples of 1/64, behind a row's first columns.
#[expect(clippy::cast_possible_truncation, reason = "clamped; what is not a number becomes 0")]
fn round(values: &[f32], row: &mut [i16]) {
    const MOST: f32 = i16::MAX as f32;
    const SCALE: f32 = (1 << FRACTION) as f32;
    /// A sum with this has no bits behind its point.
    const WHOLE: f32 = 12_582_912.0;
    for (sample, value) in row[SIDE..].iter_mut().zip(values) {
        let value = value * SCALE;
        let value = if value > -MOST { value } else { -MOST };
        let value = if value < MOST { value } else { MOST };
        *sample = ((value + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits())) as i16;
    }
}

/// Repeats the first and the last sample of a row of `width`.
fn repeat_sides(row: &mut [i16], width: usize) {
    let (first, last) = (row[SIDE], row[SIDE + width - 1]);
    row[..SIDE].fill(first);
    row[SIDE + width..].fill(last);
}
