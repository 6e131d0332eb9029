//! The rows of a picture that are in use while it is filtered from top to bottom, four rows at a time.

use std::ops::Range;

use crate::post_filter::changes::{self, DIRECTION_SUMS};
use crate::post_filter::classes::classes;
use crate::post_filter::kernel::{
    self, CHUNK_BLOCKS, CHUNK_SAMPLES, CHUNK_WITH_BORDER, Chunk, Differences, FILTER_REACH, FILTER_ROWS, Seen,
    TAPS_OF_LUMA,
};
use crate::post_filter::table::{CHROMA_TAPS, Filters, LUMA_TAPS};
use crate::post_filter::{BLOCK_SIDE, FRACTION_BITS};
use crate::scratch::Arena;
use crate::simd::widest;

/// Rows above and below a block on which its class depends.
const ROWS_AROUND_BLOCK: usize = 3;
/// Rows in use.
const AT_WORK: usize = BLOCK_SIDE + 2 * ROWS_AROUND_BLOCK;
/// Fours of rows whose changes count for a block: from half a block above it to half a block below it.
const FOUR_ROW_GROUPS: usize = 2;
/// Columns before the first column, and after the last chunk.
const SIDE_COLUMNS: usize = BLOCK_SIDE;
/// The place in a row of the first column whose changes count.
const FIRST_CHANGE: usize = SIDE_COLUMNS - BLOCK_SIDE / 2;

/// The rows of one component around a row of blocks.
#[derive(Debug, Default)]
struct Component<'a> {
    /// Samples in 1/64, from [`ROWS_AROUND_BLOCK`] rows above the blocks on; the outermost are repeated beyond the
    /// picture.
    rows: [&'a mut [i16]; AT_WORK],
    /// Sums of the changes in four rows and four columns, from half a block before the first block on, by direction;
    /// unsigned numbers of 16 bits.
    changes: [[&'a mut [i16]; DIRECTION_SUMS]; FOUR_ROW_GROUPS],
}

/// The rows of all components around a row of blocks.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    width: usize,
    height: usize,
    /// The first row of the blocks.
    top: usize,
    components: [Component<'a>; 3],
    /// The present components: luma, all three, or chroma's two alone, whose filters then see no change in luma.
    present: Range<usize>,
    /// Memory for the changes of one direction.
    changes: &'a mut [i16],
}

/// Data for filtering a chunk.
struct Work {
    luma_taps: [Chunk; LUMA_TAPS],
    chroma_taps: [[Chunk; CHROMA_TAPS]; 2],
    /// By component, if chroma is present.
    differences: [Differences; 3],
    sum: Chunk,
}

impl Work {
    const NONE: Self = Self {
        luma_taps: [[0; CHUNK_SAMPLES]; LUMA_TAPS],
        chroma_taps: [[[0; CHUNK_SAMPLES]; CHROMA_TAPS]; 2],
        differences: [Differences::NONE; 3],
        sum: [0; CHUNK_SAMPLES],
    };

    /// Lays the taps of blocks with these classes, by component, for rows of one parity.
    fn lay_taps(
        &mut self,
        filters: &Filters<'_>,
        classes: &[[usize; CHUNK_BLOCKS]; 3],
        parity: usize,
        present: &Range<usize>,
    ) {
        let [luma, chroma @ ..] = classes;
        if present.start == 0 {
            let own = luma.map(|class| &filters.luma[2 * class + parity]);
            widest!(kernel::side_by_side(&own, 0..0, &mut self.luma_taps));
        }
        if present.end == 3 {
            let without = if present.start == 0 { 0..0 } else { TAPS_OF_LUMA };
            for ((filters, classes), taps) in filters.chroma.iter().zip(chroma).zip(&mut self.chroma_taps) {
                let own = classes.map(|class| &filters[2 * class + parity]);
                widest!(kernel::side_by_side(&own, without.clone(), taps));
            }
        }
    }
}

/// The source of the planes' rows; each is read once, from top to bottom.
pub(crate) trait PlaneRows {
    /// Writes row `y` of a component into `out`, in 1/64 of a sample's step.
    fn row(&mut self, component: usize, y: usize, out: &mut [i16]);
}

/// The destination of filtered rows.
pub(crate) trait FilteredRows {
    /// Receives `samples` of a component, in 1/64 of a step, and their corrections. They begin at column `first` of row
    /// `row` of the blocks. Below the picture there are arbitrary ones.
    fn take(&mut self, component: usize, row: usize, first: usize, samples: &[i16], corrections: &[i16]);
}

/// Returns the number of chunks in a row of `width` samples.
const fn chunks(width: usize) -> usize {
    width.div_ceil(CHUNK_SAMPLES)
}

impl<'a> Window<'a> {
    /// Returns how many numbers [`Window::new`] takes.
    pub(crate) fn numbers(width: usize, present: &Range<usize>) -> usize {
        let own = AT_WORK * Self::stride(width) + FOUR_ROW_GROUPS * DIRECTION_SUMS * Self::quarters(width);
        present.len() * own + BLOCK_SIDE * Self::quarters(width)
    }

    const fn stride(width: usize) -> usize {
        SIDE_COLUMNS + chunks(width) * CHUNK_SAMPLES + SIDE_COLUMNS
    }

    /// Returns the number of column groups of four that count for some block: two for each.
    const fn quarters(width: usize) -> usize {
        chunks(width) * CHUNK_BLOCKS + 1
    }

    /// Begins at the blocks whose first row is `top`, a multiple of four.
    pub(crate) fn new(
        [width, height]: [usize; 2],
        present: Range<usize>,
        top: usize,
        rows: &mut impl PlaneRows,
        arena: &mut Arena<'a, i16>,
    ) -> Self {
        let stride = Self::stride(width);
        let quarters = Self::quarters(width);
        let mut components: [Component<'a>; 3] = Default::default();
        for component in &mut components[present.clone()] {
            component.rows.fill_with(|| arena.take(stride));
            component.changes.iter_mut().flatten().for_each(|sums| *sums = arena.take(quarters));
        }
        let changes = arena.take(BLOCK_SIDE * quarters);
        let mut window = Self { width, height, top, components, present, changes };
        window.enter(0, rows);
        window
    }

    /// Goes on to the next row of blocks.
    pub(crate) fn descend(&mut self, rows: &mut impl PlaneRows) {
        self.top += BLOCK_SIDE;
        for component in &mut self.components[self.present.clone()] {
            component.rows.rotate_left(BLOCK_SIDE);
            component.changes.rotate_left(1);
        }
        self.enter(AT_WORK - BLOCK_SIDE, rows);
    }

    /// Reads the rows from `first` on.
    fn enter(&mut self, first: usize, rows: &mut impl PlaneRows) {
        let Self { width, height, top, components, present, changes } = self;
        for number in present.clone() {
            let component = &mut components[number];
            for at in first..AT_WORK {
                let Some(y) = (*top + at).checked_sub(ROWS_AROUND_BLOCK) else { continue };
                let (before, after) = component.rows.split_at_mut(at);
                if y < *height {
                    rows.row(number, y, &mut after[0][SIDE_COLUMNS..][..*width]);
                    repeat_sides(after[0], *width);
                } else if let Some(last) = before.last() {
                    after[0].copy_from_slice(last);
                }
            }
            let above = ROWS_AROUND_BLOCK.saturating_sub(*top);
            component.repeat_top(above);
            component.add_changes(first / BLOCK_SIDE, changes);
        }
    }

    /// Filters the rows of blocks into `out`. `significance` has that of the blocks in this row, by component.
    pub(crate) fn filter(&self, filters: &Filters<'_>, significance: [&[u8]; 3], out: &mut impl FilteredRows) {
        let mut work = Work::NONE;
        for chunk in 0..chunks(self.width) {
            let mut classes = [[0; CHUNK_BLOCKS]; 3];
            for component in self.present.clone() {
                let known = &significance[component][chunk * CHUNK_BLOCKS..];
                classes[component] = self.components[component].classes(chunk, filters.step, known);
            }
            for parity in 0..2 {
                work.lay_taps(filters, &classes, parity, &self.present);
                for row in [parity, parity + 2] {
                    self.filter_row([chunk, row], filters.step, &mut work, out);
                }
            }
        }
    }

    /// Filters a row of a chunk whose taps are laid.
    fn filter_row(&self, [chunk, row]: [usize; 2], step: i16, work: &mut Work, out: &mut impl FilteredRows) {
        let Work { luma_taps, chroma_taps, differences, sum } = work;
        if self.present.start == 0 {
            kernel::luma(&self.seen(0, chunk, row), step, luma_taps, sum);
            self.write(0, [chunk, row], sum, out);
        }
        if self.present.end == 3 {
            for component in self.present.clone() {
                differences[component].look_near(&self.seen(component, chunk, row), step);
            }
            let [luma, blue, red] = &*differences;
            let luma = (self.present.start == 0).then_some(luma);
            for (component, taps, [own, other]) in
                [(1, &chroma_taps[0], [blue, red]), (2, &chroma_taps[1], [red, blue])]
            {
                kernel::chroma([own, other], luma, taps, sum);
                self.write(component, [chunk, row], sum, out);
            }
        }
    }

    /// Returns the samples of a component that a chunk reads in a row of its blocks.
    fn seen(&self, component: usize, chunk: usize, row: usize) -> Seen<'_> {
        let rows: &[&mut [i16]; FILTER_ROWS] = self.components[component].rows
            [row + ROWS_AROUND_BLOCK - FILTER_REACH..]
            .first_chunk()
            .expect("there are as many rows around the blocks");
        rows.each_ref().map(|row| part(row, chunk))
    }

    /// Writes the corrected samples of a chunk in a row of its blocks.
    fn write(&self, component: usize, [chunk, row]: [usize; 2], corrections: &Chunk, out: &mut impl FilteredRows) {
        let first = chunk * CHUNK_SAMPLES;
        let count = CHUNK_SAMPLES.min(self.width - first);
        let here = &self.components[component].rows[row + ROWS_AROUND_BLOCK][SIDE_COLUMNS + first..][..count];
        out.take(component, row, first, here, &corrections[..count]);
    }
}

impl Component<'_> {
    /// Copies the first row of the picture into the rows above it.
    fn repeat_top(&mut self, count: usize) {
        let (above, rows) = self.rows.split_at_mut(count);
        for row in above {
            row.copy_from_slice(rows[0]);
        }
    }

    /// Sums the changes of the groups of four rows from number `first` on.
    fn add_changes(&mut self, first: usize, memory: &mut [i16]) {
        for (number, sums) in self.changes.iter_mut().enumerate().skip(first) {
            let rows =
                self.rows[number * BLOCK_SIDE..].first_chunk().expect("there are as many rows around the blocks");
            changes::sum_up(rows, FIRST_CHANGE, memory, sums);
        }
    }

    /// Returns the classes of a chunk's blocks, as many as have a significance.
    fn classes(&self, chunk: usize, step: i16, significance: &[u8]) -> [usize; CHUNK_BLOCKS] {
        let mut changes = [[0; CHUNK_BLOCKS]; DIRECTION_SUMS];
        let first = chunk * CHUNK_BLOCKS;
        let [above, below] = &self.changes;
        for ((changes, above), below) in changes.iter_mut().zip(above).zip(below) {
            let above = &above[first..];
            let below = &below[first..];
            let changes = changes.as_mut_slice();
            widest!(changes::around_blocks(above, below, changes));
        }
        let mut known = [0; CHUNK_BLOCKS];
        for (known, significance) in known.iter_mut().zip(significance) {
            *known = *significance;
        }
        widest!(classes(&changes, step, &known))
    }
}

/// Returns the samples of a row that a chunk reads.
fn part(row: &[i16], chunk: usize) -> &[i16; CHUNK_WITH_BORDER] {
    row[SIDE_COLUMNS - FILTER_REACH + chunk * CHUNK_SAMPLES..]
        .first_chunk()
        .expect("rows have a margin after whole chunks")
}

/// Sets `out` to samples with their corrections, both in 1/64, in steps.
#[inline(always)]
pub(crate) fn add(samples: &[i16], corrections: &[i16], out: &mut [f32]) {
    const SAMPLE_UNIT: f32 = 1.0 / (1 << FRACTION_BITS) as f32;
    for ((out, &sample), &correction) in out.iter_mut().zip(samples).zip(corrections) {
        *out = (i32::from(sample) + i32::from(correction)) as f32 * SAMPLE_UNIT;
    }
}

/// Repeats the first and the last sample of a row of `width`.
fn repeat_sides(row: &mut [i16], width: usize) {
    let first = row[SIDE_COLUMNS];
    let last = row[SIDE_COLUMNS + width - 1];
    row[..SIDE_COLUMNS].fill(first);
    row[SIDE_COLUMNS + width..].fill(last);
}
