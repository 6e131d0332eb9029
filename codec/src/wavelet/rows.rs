//! Lifting along columns, while the rows pass through a window.

use crate::scratch::Arena;
use crate::subband::segments::{self, Segments, long_runs};
use crate::wavelet::lift::{Direction, LIFTING_STEPS, STEP_REACH, Sample, Steps, Taps, mirror};

/// The number of rows between the newest row and the last step.
pub(super) const DELAY_ROWS: usize = STEP_REACH * LIFTING_STEPS;
/// The rows in the window: from the newest to the farthest that the last step reads.
const WINDOW_ROWS: usize = DELAY_ROWS + STEP_REACH + 1;

/// The rows of a level in progress. Rows enter one by one, top to bottom. A row has its final values when the row
/// [`DELAY_ROWS`] below it, or one more, has entered, and stays for [`STEP_REACH`] more rows.
///
/// A row consists of two halves. Steps leave out segments of which all neighbours are zero.
#[derive(Debug, Default)]
pub(super) struct Window<'a, T> {
    steps: Steps<T>,
    shape: Shape,
    /// The first row that enters. Unless it is the picture's first, the first [`DELAY_ROWS`] rows never get their final
    /// values.
    first: usize,
    /// Row `y` at `y % WINDOW_ROWS`.
    rows: [&'a mut [T]; WINDOW_ROWS],
    /// The segments of each row that may be other than zero, by half. All are before the first row enters.
    occupied: [[Segments; 2]; WINDOW_ROWS],
}

/// The rows of a level.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) height: usize,
    /// Samples in each half of a row.
    pub(super) halves: [usize; 2],
    /// Samples of a half in a segment.
    pub(super) segment: usize,
}

impl Shape {
    /// Rows of one half and one segment.
    pub(super) const fn whole([width, height]: [usize; 2]) -> Self {
        Self { height, halves: [width, 0], segment: if width > 0 { width } else { 1 } }
    }

    /// All segments of each half.
    pub(super) fn all(&self) -> [Segments; 2] {
        self.halves.map(|samples| segments::first(samples.div_ceil(self.segment)))
    }
}

impl<'a, T: Sample> Window<'a, T> {
    /// The number of samples that [`Window::new`] takes.
    pub(super) const fn numbers(width: usize) -> usize {
        WINDOW_ROWS * width
    }

    pub(super) fn new(
        taps: &Taps<T>,
        direction: Direction,
        shape: Shape,
        first: usize,
        arena: &mut Arena<'a, T>,
    ) -> Self {
        let [left, right] = shape.halves;
        let rows = std::array::from_fn(|_| arena.take(left + right));
        let occupied = [shape.all(); WINDOW_ROWS];
        Self { steps: Steps::new(taps, direction), shape, first, rows, occupied }
    }

    /// Returns a row, and the segments of its halves that may be other than zero.
    pub(super) fn row(&self, y: usize) -> (&[T], [Segments; 2]) {
        let at = y % WINDOW_ROWS;
        (self.rows[at], self.occupied[at])
    }

    /// Returns a row that is about to enter, all of which will be written.
    pub(super) fn row_mut(&mut self, y: usize) -> &mut [T] {
        let at = y % WINDOW_ROWS;
        self.occupied[at] = self.shape.all();
        self.rows[at]
    }

    /// Returns the halves of a row that is about to enter, and the segments of the row that was in its place that may
    /// be other than zero. The caller writes these at least, and sets them.
    pub(super) fn halves_mut(&mut self, y: usize) -> [(&mut [T], &mut Segments); 2] {
        let at = y % WINDOW_ROWS;
        let (left, right) = self.rows[at].split_at_mut(self.shape.halves[0]);
        let [of_left, of_right] = &mut self.occupied[at];
        [(left, of_left), (right, of_right)]
    }

    /// Does all steps that row `newest` makes possible. Below the picture, rows without samples enter.
    pub(super) fn enter(&mut self, newest: usize) {
        let height = self.shape.height;
        if newest % 2 == self.steps.first || height < 2 {
            return;
        }
        for (number, taps) in self.steps.taps.into_iter().enumerate() {
            let back = STEP_REACH * (number + 1);
            let known = self.first == 0 || newest >= self.first + 2 * back;
            match newest.checked_sub(back) {
                Some(y) if known && y < height => self.step(y, taps),
                _ => {}
            }
        }
    }

    fn step(&mut self, y: usize, taps: [T; 2]) {
        let own = y % WINDOW_ROWS;
        let around = [-3, -1, 1, 3].map(|distance| mirror(y.cast_signed() + distance, self.shape.height) % WINDOW_ROWS);
        let target = std::mem::take(&mut self.rows[own]);
        let neighbours = around.map(|at| &*self.rows[at]);
        let mut first = 0;
        for half in 0..2 {
            let end = first + self.shape.halves[half];
            let changes = around.iter().fold(0, |changes, at| changes | self.occupied[*at][half]);
            for run in long_runs(changes) {
                let columns =
                    end.min(first + run.start * self.shape.segment)..end.min(first + run.end * self.shape.segment);
                let neighbours = neighbours.map(|row| &row[columns.clone()]);
                T::lift(&mut target[columns.clone()], taps, neighbours);
            }
            self.occupied[own][half] |= changes;
            first = end;
        }
        self.rows[own] = target;
    }
}
