//! The levels of one component: rows pass through them from the finest to the coarsest.

use std::ops::{Range, RangeInclusive};

use crate::picture::Size;
use crate::scratch::Arena;
use crate::subband::layout::{SUBBAND_COUNT, WAVELET_LEVELS, details, side};
use crate::wavelet::lift::{Direction, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY_ROWS, Shape, Window};

/// Rows that must have entered below a row before the level passes it on.
const WAIT_ROWS: usize = DELAY_ROWS + 1;

/// Some levels of one component, for the rows of a strip.
#[derive(Default)]
pub(crate) struct Component<'a> {
    /// Finest first.
    levels: [Level<'a>; WAVELET_LEVELS],
    /// The number of levels in use.
    count: usize,
    /// The strip's part of the coarsest level's low band.
    low: Low<'a>,
}

/// The part of one component that a strip fills.
pub(crate) struct Share<'a, 'b, 'c> {
    pub(crate) component: usize,
    /// The strip's rows of pixels.
    pub(crate) rows: Range<usize>,
    /// The strip's rows of every subband; the component's detail bands are taken.
    pub(crate) bands: &'b mut [&'c mut [f32]; SUBBAND_COUNT],
    /// The coarsest level's low band.
    pub(crate) low: &'a mut [f32],
}

#[derive(Default)]
struct Low<'a> {
    first: usize,
    samples: &'a mut [f32],
}

#[derive(Default)]
struct Level<'a> {
    height: usize,
    /// The strip's rows.
    own: Range<usize>,
    /// The strip's part of HL, LH, HH.
    bands: [&'a mut [f32]; 3],
    /// The row that enters next.
    next: usize,
    window: Window<'a, f32>,
    line: Line<'a, f32>,
}

impl<'a> Component<'a> {
    /// The number of floats that [`Component::new`] takes.
    pub(crate) fn floats(size: Size, numbers: RangeInclusive<usize>) -> usize {
        let widths = numbers.map(|number| side(size, number - 1)[0]);
        widths.map(|width| Window::<f32>::numbers(width) + Line::<f32>::numbers(width)).sum()
    }

    /// Also returns the rows that it must receive: those of the strip and some around.
    pub(crate) fn new<'c: 'a>(
        taps: &[Taps; WAVELET_LEVELS],
        size: Size,
        numbers: RangeInclusive<usize>,
        share: Share<'a, '_, 'c>,
        arena: &mut Arena<'a>,
    ) -> (Self, Range<usize>) {
        let strip = share.rows;
        let low = Low { first: strip.start >> numbers.end(), samples: share.low };
        let first_level = *numbers.start();
        let count = numbers.clone().count();
        let mut levels: [Level<'a>; WAVELET_LEVELS] = Default::default();
        // The rows of a level's low band that the coarser level needs.
        let mut needed: Option<Range<usize>> = None;
        for number in numbers.rev() {
            let [width, height] = side(size, number - 1);
            let own = strip.start >> (number - 1)..strip.end.div_ceil(1 << (number - 1));
            let low = needed.take().map_or(own.clone(), |low| 2 * low.start..2 * low.end - 1);
            let first = own.start.min(low.start).saturating_sub(DELAY_ROWS);
            needed = Some(first..(own.end.max(low.end) + WAIT_ROWS).min(height));
            let taps = &taps[number - 1];
            levels[number - first_level] = Level {
                height,
                own,
                bands: std::array::from_fn(|band| {
                    std::mem::take(&mut share.bands[details(share.component, number).start + band])
                }),
                next: first,
                window: Window::new(taps, Direction::Analysis, Shape::whole([width, height]), first, arena),
                line: Line::new(taps, Direction::Analysis, width, arena),
            };
        }
        (Self { levels, count, low }, needed.unwrap_or_default())
    }

    /// Takes the next row.
    pub(crate) fn push(&mut self, row: &[f32]) {
        push(&mut self.levels[..self.count], &mut self.low, row);
    }

    /// Ends the rows: there are no more below the picture.
    pub(crate) fn finish(&mut self) {
        let mut levels = &mut self.levels[..self.count];
        while let [level, ..] = levels {
            let more = if level.next == level.height { WAIT_ROWS } else { 0 };
            for _ in 0..more {
                enter(levels, &mut self.low);
            }
            levels = &mut levels[1..];
        }
    }
}

fn push(levels: &mut [Level<'_>], low: &mut Low<'_>, row: &[f32]) {
    let level = &mut levels[0];
    level.window.row_mut(level.next).copy_from_slice(row);
    enter(levels, low);
}

/// Adds the next row to the finest of these levels, and passes on the rows that become final.
fn enter(levels: &mut [Level<'_>], low: &mut Low<'_>) {
    let Some((level, coarser)) = levels.split_first_mut() else { return };
    let newest = level.next;
    level.next += 1;
    level.window.enter(newest);
    if newest.is_multiple_of(2) {
        for y in [newest.checked_sub(WAIT_ROWS), newest.checked_sub(DELAY_ROWS)].into_iter().flatten() {
            if y < level.height {
                level.give(y, coarser, low);
            }
        }
    }
}

impl Level<'_> {
    /// Splits a final row into its bands.
    fn give(&mut self, y: usize, coarser: &mut [Level<'_>], low: &mut Low<'_>) {
        let own = self.own.contains(&y);
        let odd = !y.is_multiple_of(2);
        if odd && !own {
            return;
        }
        let [left, right] = self.line.split(self.window.row(y).0);
        let [hl, lh, hh] = &mut self.bands;
        if own {
            let row = y / 2 - self.own.start / 2;
            let band = if odd { hh } else { hl };
            band[row * right.len()..][..right.len()].copy_from_slice(right);
            if odd {
                lh[row * left.len()..][..left.len()].copy_from_slice(left);
            }
        }
        if odd {
            return;
        }
        let y = y / 2;
        if let [level, ..] = coarser {
            if level.next == y {
                push(coarser, low, left);
            }
        } else if let Some(row) = y.checked_sub(low.first)
            && let Some(out) = low.samples.get_mut(row * left.len()..(row + 1) * left.len())
        {
            out.copy_from_slice(left);
        }
    }
}
