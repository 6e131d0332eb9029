//! Pictures or planes to coefficients, row by row: a row of a level is handed on to the coarser one as soon as it is
//! final, so that no level is ever held whole but the one at which strips of rows meet.

use std::ops::{Range, RangeInclusive};

use super::Planes;
use super::colour;
use super::lift::Direction;
use super::line::Line;
use super::rows::{DELAY, Window};
use super::strips::{TILE, strips};
use crate::layout::{LEVELS, Unit};
use crate::model::Model;
use crate::parallel;
use crate::picture::{Picture, Size};
use crate::transform::Coefficients;

/// Levels done in strips. A strip does rows around it again, the more the more levels; those of all six levels would
/// be most of the picture. What the other levels need is small.
const IN_STRIPS: usize = 2;
/// Rows that must have entered below a row before it is handed on.
const WAIT: usize = DELAY + 1;
/// With fewer samples than this, the levels that are not done in strips are not worth a thread.
const PARALLEL: usize = 1 << 17;

/// The coefficients of these planes, on up to `threads` threads in strips of `rows` rows.
pub(super) fn of_planes(model: &Model, planes: &Planes, threads: usize, rows: usize) -> Coefficients {
    let mut out = Coefficients::zero(planes.size, planes.channels);
    let width = planes.size.width();
    analyse(model, &mut out, threads, rows, |components, rows| {
        for (component, plane) in components.iter_mut().zip(&planes.components) {
            for row in plane[rows.start * width..rows.end * width].chunks(width) {
                component.push(row);
            }
        }
    });
    out
}

/// The coefficients of this picture, on up to `threads` threads in strips of `rows` rows.
pub(super) fn of_picture(model: &Model, picture: &Picture, threads: usize, rows: usize) -> Coefficients {
    let (size, count) = (picture.size(), picture.channels().count());
    let mut out = Coefficients::zero(size, picture.channels());
    let width = size.width();
    analyse(model, &mut out, threads, rows, |components, rows| {
        let mut tile = vec![vec![0.0; TILE * width]; count];
        let samples = &picture.samples()[rows.start * width * count..rows.end * width * count];
        for samples in samples.chunks(TILE * width * count) {
            colour::to_planes(model, samples, &mut tile);
            for (component, plane) in components.iter_mut().zip(&tile) {
                for row in plane[..samples.len() / count].chunks(width) {
                    component.push(row);
                }
            }
        }
    });
    out
}

/// Calls `feed` for every strip with its components and the rows that each must be given; then does the other levels.
fn analyse(
    model: &Model,
    out: &mut Coefficients,
    threads: usize,
    rows: usize,
    feed: impl Fn(&mut [Component<'_>], Range<usize>) + Sync,
) {
    let (size, count) = (out.size, out.channels.count());
    let [width, height] = side(size, IN_STRIPS);
    let mut lows = vec![vec![0.0; width * height]; count];
    let (low_units, details) = out.units.split_at_mut(3);

    let strips: Vec<_> = strips(size.height(), rows).collect();
    let mut parts: Vec<_> = lows.iter_mut().map(|low| low.chunks_mut((rows >> IN_STRIPS) * width)).collect();
    let parted = bands(details, size, 1..=IN_STRIPS, strips.len(), rows);
    let jobs = strips.into_iter().zip(parted).map(|(strip, bands)| {
        let components = parts.iter_mut().zip(bands).enumerate().map(|(component, (low, bands))| {
            let low = low.next().unwrap_or_default();
            Component::new(model, size, component, 1..=IN_STRIPS, &strip, bands, low)
        });
        components.collect::<Vec<_>>()
    });
    // Here, since memory that a thread takes is new to it.
    let jobs: Vec<_> = jobs.collect();
    parallel::for_each(threads, jobs.into_iter(), |mut components| {
        let needed = components[0].needed.clone();
        feed(&mut components, needed);
        components.iter_mut().for_each(Component::finish);
    });

    let whole = 0..size.height();
    let rows = size.height().next_multiple_of(1 << LEVELS);
    let bands = bands(details, size, IN_STRIPS + 1..=LEVELS, 1, rows).into_iter().flatten();
    let jobs = lows.iter().zip(low_units).zip(bands).enumerate().map(|(component, ((rows, low), bands))| {
        (rows, Component::new(model, size, component, IN_STRIPS + 1..=LEVELS, &whole, bands, low))
    });
    let jobs: Vec<_> = jobs.collect();
    let threads = if width * height * count < PARALLEL { 1 } else { threads };
    parallel::for_each(threads, jobs.into_iter(), |(rows, mut component)| {
        rows.chunks(width).for_each(|row| component.push(row));
        component.finish();
    });
}

/// Width and height of the low band of a level; level 0 is the picture.
fn side(size: Size, level: usize) -> [usize; 2] {
    [size.width(), size.height()].map(|side| side.div_ceil(1 << level))
}

/// The parts of the detail bands that belong to each strip and component, in the order of the units.
fn bands(
    details: &mut [Vec<f32>],
    size: Size,
    levels: RangeInclusive<usize>,
    strips: usize,
    rows: usize,
) -> Vec<[Vec<&mut [f32]>; 3]> {
    let mut out: Vec<[Vec<&mut [f32]>; 3]> = (0..strips).map(|_| Default::default()).collect();
    for (index, band) in details.iter_mut().enumerate() {
        let unit = Unit::at(3 + index);
        if levels.contains(&unit.level) {
            let width = unit.size(size.width(), size.height()).0;
            let mut parts = band.chunks_mut(((rows >> unit.level) * width).max(1));
            for strip in &mut out {
                strip[unit.component].push(parts.next().unwrap_or_default());
            }
        }
    }
    out
}

/// Some levels of one component, for the rows of a strip.
struct Component<'a> {
    /// Finest first.
    levels: Vec<Level<'a>>,
    /// The strip's part of the coarsest level's low band.
    low: Low<'a>,
    /// The rows to give, which are those of the strip and some around.
    needed: Range<usize>,
}

struct Low<'a> {
    first: usize,
    samples: &'a mut [f32],
}

struct Level<'a> {
    height: usize,
    /// The strip's rows.
    own: Range<usize>,
    /// The strip's part of HL, LH, HH.
    bands: [&'a mut [f32]; 3],
    /// The row that enters next.
    next: usize,
    window: Window,
    line: Line,
}

impl<'a> Component<'a> {
    fn new(
        model: &Model,
        size: Size,
        component: usize,
        numbers: RangeInclusive<usize>,
        strip: &Range<usize>,
        bands: Vec<&'a mut [f32]>,
        low: &'a mut [f32],
    ) -> Self {
        let low = Low { first: strip.start >> numbers.end(), samples: low };
        let mut bands = bands.into_iter();
        // What the coarser level needs of a level's low band.
        let mut needed: Option<Range<usize>> = None;
        let levels = numbers.rev().map(|number| {
            let [width, height] = side(size, number - 1);
            let own = strip.start >> (number - 1)..strip.end.div_ceil(1 << (number - 1));
            let low = needed.take().map_or(own.clone(), |low| 2 * low.start..2 * low.end - 1);
            let first = own.start.min(low.start).saturating_sub(DELAY);
            needed = Some(first..(own.end.max(low.end) + WAIT).min(height));
            let taps = &model.taps[number - 1][usize::from(component > 0)];
            Level {
                height,
                own,
                bands: std::array::from_fn(|_| bands.next().unwrap_or_default()),
                next: first,
                window: Window::new(taps, Direction::Analysis, [width, height], first),
                line: Line::new(taps, Direction::Analysis, width),
            }
        });
        let mut levels: Vec<_> = levels.collect();
        levels.reverse();
        Self { levels, low, needed: needed.unwrap_or_default() }
    }

    /// Takes the next row.
    fn push(&mut self, row: &[f32]) {
        push(&mut self.levels, &mut self.low, row);
    }

    /// Below the picture there are no more rows.
    fn finish(&mut self) {
        let mut levels = self.levels.as_mut_slice();
        while let [level, ..] = levels {
            let more = if level.next == level.height { WAIT } else { 0 };
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

/// Lets the next row enter the finest of these levels, and hands on what becomes final.
fn enter(levels: &mut [Level<'_>], low: &mut Low<'_>) {
    let Some((level, coarser)) = levels.split_first_mut() else { return };
    let newest = level.next;
    level.next += 1;
    level.window.enter(newest);
    if newest.is_multiple_of(2) {
        for y in [newest.checked_sub(WAIT), newest.checked_sub(DELAY)].into_iter().flatten() {
            if y < level.height {
                level.give(y, coarser, low);
            }
        }
    }
}

impl Level<'_> {
    /// Takes a final row apart.
    fn give(&mut self, y: usize, coarser: &mut [Level<'_>], low: &mut Low<'_>) {
        let own = self.own.contains(&y);
        let odd = !y.is_multiple_of(2);
        if odd && !own {
            return;
        }
        let [left, right] = self.line.split(self.window.row(y));
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
