//! Lifting along columns, while the rows pass through a window.

use crate::scratch::Arena;
use crate::simd::widest;
use crate::wavelet::lift::{Direction, LIFTING_STEPS, STEP_REACH, Sample, Steps, Taps, mirror};

/// The number of rows between the newest row and the last step.
pub(super) const DELAY_ROWS: usize = STEP_REACH * LIFTING_STEPS;
/// The rows in the window: from the newest to the farthest that the last step reads.
const WINDOW_ROWS: usize = DELAY_ROWS + STEP_REACH + 1;

/// The rows of a level in progress. Rows enter one by one, top to bottom. A row has its final values when the row
/// [`DELAY_ROWS`] below it, or one more, has entered, and stays for [`STEP_REACH`] more rows.
#[derive(Debug, Default)]
pub(super) struct Window<'a, T> {
    steps: Steps<T>,
    height: usize,
    /// The first row that enters. Unless it is the picture's first, the first [`DELAY_ROWS`] rows never get their final
    /// values.
    first: usize,
    /// Row `y` at `y % WINDOW_ROWS`.
    rows: [&'a mut [T]; WINDOW_ROWS],
}

impl<'a, T: Sample> Window<'a, T> {
    /// The number of samples that [`Window::new`] takes.
    pub(super) const fn numbers(width: usize) -> usize {
        WINDOW_ROWS * width
    }

    pub(super) fn new(
        taps: &Taps<T>,
        direction: Direction,
        [width, height]: [usize; 2],
        first: usize,
        arena: &mut Arena<'a, T>,
    ) -> Self {
        let rows = std::array::from_fn(|_| arena.take(width));
        Self { steps: Steps::new(taps, direction), height, first, rows }
    }

    pub(super) fn row(&self, y: usize) -> &[T] {
        self.rows[y % WINDOW_ROWS]
    }

    pub(super) fn row_mut(&mut self, y: usize) -> &mut [T] {
        self.rows[y % WINDOW_ROWS]
    }

    /// Does all steps that row `newest` makes possible. Below the picture, rows without samples enter.
    pub(super) fn enter(&mut self, newest: usize) {
        if newest % 2 == self.steps.first || self.height < 2 {
            return;
        }
        for (number, taps) in self.steps.taps.into_iter().enumerate() {
            let back = STEP_REACH * (number + 1);
            let known = self.first == 0 || newest >= self.first + 2 * back;
            match newest.checked_sub(back) {
                Some(y) if known && y < self.height => self.step(y, taps),
                _ => {}
            }
        }
    }

    fn step(&mut self, y: usize, taps: [T; 2]) {
        let target = std::mem::take(&mut self.rows[y % WINDOW_ROWS]);
        let at = |distance: isize| self.row(mirror(y.cast_signed() + distance, self.height));
        widest!(step(target, taps, [-3, -1, 1, 3].map(at)));
        self.rows[y % WINDOW_ROWS] = target;
    }
}

#[inline(always)]
fn step<T: Sample>(target: &mut [T], taps: [T; 2], neighbours: [&[T]; 4]) {
    let n = target.len();
    let [a, b, c, d] = neighbours.map(|row| &row[..n]);
    for (x, value) in target.iter_mut().enumerate() {
        *value = T::lifted(*value, taps, [a[x], b[x], c[x], d[x]]);
    }
}
