//! Merges coefficients into planes or pictures, row by row. A level makes a row when the finer level needs it, so no
//! level is ever stored whole but the last.

use crate::colour::convert::FromPlanes;
use crate::colour::planes::Planes;
use crate::parallel::{self, Threads};
use crate::picture::{Size, ViewMut};
use crate::scratch::{Arena, Scratch};
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{LEVELS, details, side};
use crate::wavelet::lift::{Direction, Sample, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY_ROWS, Window};
use crate::wavelet::strips::{Division, TILE_ROWS};

/// Returns the planes of these coefficients, in strips of `division`.
pub(crate) fn planes(
    taps: &[Taps; LEVELS],
    coefficients: &Coefficients,
    (threads, division): (&Threads, Division),
    scratch: &Scratch,
) -> Planes {
    let size = coefficients.size;
    let channels = coefficients.channels;
    let mut components = vec![vec![0.0; size.pixels()]; channels.count()];
    let jobs = components.iter_mut().enumerate().flat_map(|(component, plane)| {
        let parts = plane.chunks_mut(division.rows * size.width());
        division.strips(size.height()).zip(parts).map(move |(strip, part)| (component, strip, part))
    });
    parallel::for_each(threads, jobs, |(component, strip, part)| {
        let source = Source::of(taps, coefficients, component);
        scratch.lend(Component::numbers(&source), |floats| {
            let mut component = Component::new(source, strip.start, &mut Arena(floats));
            for (y, row) in strip.zip(part.chunks_mut(size.width())) {
                component.row(y, row);
            }
        });
    });
    Planes { size, channels, axes: coefficients.axes, components }
}

/// Fills `out` with the picture of these coefficients, in strips of `division`.
pub(crate) fn picture(
    taps: &[Taps; LEVELS],
    coefficients: &Coefficients,
    (threads, division): (&Threads, Division),
    scratch: &Scratch,
    mut out: ViewMut<'_>,
) {
    let size = coefficients.size;
    let count = coefficients.channels.count();
    let width = size.width();
    let from_planes = FromPlanes::new(out.format, coefficients.axes);
    let jobs = division.strips(size.height()).map(|strip| {
        let rows = out.split_off(strip.len());
        (strip, rows)
    });
    let tile = TILE_ROWS * width * count;
    let sources = [0, 1, 2].map(|component| Source::of(taps, coefficients, component));
    let floats = tile + count * Component::numbers(&sources[0]);
    parallel::for_each(threads, jobs, |(strip, mut out)| {
        scratch.lend(floats, |floats| {
            let mut arena = Arena(floats);
            let mut tile = arena.take(tile).chunks_mut(TILE_ROWS * width);
            let mut tile: [&mut [f32]; 3] = std::array::from_fn(|_| tile.next().unwrap_or_default());
            let mut components: [Component<'_, f32>; 3] = Default::default();
            for (component, source) in components.iter_mut().zip(sources).take(count) {
                *component = Component::new(source, strip.start, &mut arena);
            }
            for top in strip.clone().step_by(TILE_ROWS) {
                let rows = top..(top + TILE_ROWS).min(strip.end);
                for (component, plane) in components.iter_mut().zip(&mut tile).take(count) {
                    for (y, row) in rows.clone().zip(plane.chunks_mut(width)) {
                        component.row(y, row);
                    }
                }
                let planes = tile.each_ref().map(|plane| &**plane);
                from_planes.rows(planes, width, top - strip.start..rows.end - strip.start, &mut out);
            }
        });
    });
}

/// The data that a component is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a, T> {
    /// By level, the finest first.
    pub(crate) taps: &'a [Taps<T>; LEVELS],
    /// The subbands of all components; one without numbers is zero.
    pub(crate) subbands: &'a [Vec<T>],
    /// The size of the picture.
    pub(crate) size: Size,
    pub(crate) component: usize,
    /// The finest level of the component: the plane has the size of the low band of the next finer one.
    pub(crate) finest: usize,
}

impl<T> Source<'_, T> {
    /// Whether no subband of the component has numbers.
    pub(crate) fn is_zero(&self) -> bool {
        let mut details = (self.finest..=LEVELS).flat_map(|level| details(self.component, level));
        self.subbands[self.component].is_empty() && details.all(|index| self.subbands[index].is_empty())
    }
}

impl<'a> Source<'a, f32> {
    pub(crate) fn of(taps: &'a [Taps; LEVELS], coefficients: &'a Coefficients, component: usize) -> Self {
        Self { taps, subbands: &coefficients.subbands, size: coefficients.size, component, finest: 1 }
    }
}

/// The rows of one component, from one of them on.
#[derive(Default)]
pub(crate) struct Component<'a, T> {
    /// Finest first.
    levels: [Level<'a, T>; LEVELS],
    /// The number of levels in use.
    count: usize,
    low: &'a [T],
}

#[derive(Default)]
struct Level<'a, T> {
    /// HL, LH, HH.
    bands: &'a [Vec<T>],
    height: usize,
    /// Samples of the left half: the low ones.
    left: usize,
    /// The row that enters next.
    next: usize,
    window: Window<'a, T>,
    line: Line<'a, T>,
}

impl<'a, T: Sample> Component<'a, T> {
    /// The number of samples that [`Component::new`] takes.
    pub(crate) fn numbers(source: &Source<'_, T>) -> usize {
        let widths = (source.finest..=LEVELS).map(|level| side(source.size, level - 1)[0]);
        widths.map(|width| Window::<T>::numbers(width) + Line::<T>::numbers(width)).sum()
    }

    /// Its first row is row `first`.
    pub(crate) fn new(source: Source<'a, T>, mut first: usize, arena: &mut Arena<'a, T>) -> Self {
        let Source { taps, subbands, size, component, finest } = source;
        let mut levels: [Level<'a, T>; LEVELS] = Default::default();
        for (level, number) in levels.iter_mut().zip(finest..=LEVELS) {
            first = first.saturating_sub(DELAY_ROWS);
            let [width, height] = side(size, number - 1);
            let taps = &taps[number - 1];
            let bands = &subbands[details(component, number)];
            let left = width.div_ceil(2);
            // Without HL and HH the right half stays zero.
            let columns = if bands[0].is_empty() && bands[2].is_empty() { left } else { width };
            *level = Level {
                bands,
                height,
                left,
                next: first,
                window: Window::new(taps, Direction::Synthesis, [columns, height], first, arena),
                line: Line::new(taps, Direction::Synthesis, width, arena),
            };
            first = first.div_ceil(2);
        }
        Self { levels, count: LEVELS + 1 - finest, low: &subbands[component] }
    }

    /// Writes row `y` of the plane. Callers read rows in order.
    pub(crate) fn row(&mut self, y: usize, out: &mut [T]) {
        row(&mut self.levels[..self.count], self.low, y, out);
    }
}

/// Writes row `y` of the finest of these levels.
fn row<T: Sample>(levels: &mut [Level<'_, T>], low: &[T], y: usize, out: &mut [T]) {
    let Some((level, coarser)) = levels.split_first_mut() else {
        return copy_row(low, y, out);
    };
    while level.next <= y + DELAY_ROWS {
        level.enter(coarser, low);
    }
    level.line.join(level.window.row(y), out);
}

/// Copies row `y` of a band of the same width into `out`.
fn copy_row<T: Sample>(band: &[T], y: usize, out: &mut [T]) {
    if band.is_empty() {
        out.fill(T::default());
    } else {
        out.copy_from_slice(&band[y * out.len()..][..out.len()]);
    }
}

impl<T: Sample> Level<'_, T> {
    fn enter(&mut self, coarser: &mut [Self], low: &[T]) {
        let y = self.next;
        if y < self.height {
            let (left, right) = self.window.row_mut(y).split_at_mut(self.left);
            if y.is_multiple_of(2) {
                row(coarser, low, y / 2, left);
                copy_row(&self.bands[0], y / 2, right);
            } else {
                copy_row(&self.bands[1], y / 2, left);
                copy_row(&self.bands[2], y / 2, right);
            }
        }
        self.window.enter(y);
        self.next += 1;
    }
}
