//! Merges coefficients into planes or pictures, row by row. A level makes a row when the finer level needs it, so no
//! level is ever stored whole but the last.

use std::ops::Range;

use crate::colour::convert::FromPlanes;
use crate::colour::planes::Planes;
use crate::parallel::{self, Threads};
use crate::picture::{Size, ViewMut};
use crate::scratch::{Arena, Scratch};
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{Subband, WAVELET_LEVELS, details, side};
use crate::subband::segments::{self, Segments, runs};
use crate::wavelet::lift::{Direction, Sample, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY_ROWS, Shape, Window};
use crate::wavelet::strips::{Division, TILE_ROWS};

/// Levels with fewer samples in a segment work on all of a row or on none.
const MIN_SEGMENT_SAMPLES: usize = 16;

/// Returns the planes of these coefficients, in strips of `division`.
pub(crate) fn planes(
    taps: &[Taps; WAVELET_LEVELS],
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
    taps: &[Taps; WAVELET_LEVELS],
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
    pub(crate) taps: &'a [Taps<T>; WAVELET_LEVELS],
    /// The subbands of all components; one without numbers is zero.
    pub(crate) subbands: &'a [Vec<T>],
    /// By subband and row, the segments that may be other than zero; `None` if all may be.
    pub(crate) occupied: Option<&'a [Vec<Segments>]>,
    /// The size of the picture.
    pub(crate) size: Size,
    pub(crate) component: usize,
    /// The finest level of the component: the plane has the size of the low band of the next finer one.
    pub(crate) finest: usize,
}

impl<'a, T> Source<'a, T> {
    pub(super) fn band(&self, index: usize) -> Band<'a, T> {
        let occupied = self.occupied.map(|occupied| occupied[index].as_slice());
        Band { values: &self.subbands[index], occupied, segment: self.segment(Subband::at(index).level) }
    }

    /// Returns the samples in a segment of a band of this level.
    const fn segment(&self, level: usize) -> usize {
        segments::pixels(self.size.width()) >> level
    }
}

impl<'a> Source<'a, f32> {
    pub(crate) fn of(taps: &'a [Taps; WAVELET_LEVELS], coefficients: &'a Coefficients, component: usize) -> Self {
        let Coefficients { subbands, size, .. } = coefficients;
        Self { taps, subbands, occupied: None, size: *size, component, finest: 1 }
    }
}

/// The rows of one component, from one of them on.
#[derive(Default)]
pub(crate) struct Component<'a, T> {
    /// Finest first.
    levels: [Level<'a, T>; WAVELET_LEVELS],
    /// The number of levels in use.
    count: usize,
    low: Band<'a, T>,
}

/// A level in progress, from subbands of numbers `C`.
#[derive(Default)]
pub(super) struct Level<'a, T, C = T> {
    /// HL, LH, HH.
    bands: [Band<'a, C>; 3],
    shape: Shape,
    /// The row that enters next.
    next: usize,
    window: Window<'a, T>,
    line: Line<'a, T>,
}

/// A subband.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Band<'a, T> {
    values: &'a [T],
    /// By row; `None` if all may be other than zero.
    occupied: Option<&'a [Segments]>,
    /// The samples in a segment.
    segment: usize,
}

impl<'a, T: Sample> Component<'a, T> {
    /// The number of samples that [`Component::new`] takes.
    pub(crate) fn numbers(source: &Source<'_, T>) -> usize {
        let widths = (source.finest..=WAVELET_LEVELS).map(|level| side(source.size, level - 1)[0]);
        widths.map(|width| Window::<T>::numbers(width) + Line::<T>::numbers(width)).sum()
    }

    /// Its first row is row `first`.
    pub(crate) fn new(source: Source<'a, T>, mut first: usize, arena: &mut Arena<'a, T>) -> Self {
        let Source { taps, component, finest, .. } = source;
        let mut levels: [Level<'a, T>; WAVELET_LEVELS] = Default::default();
        for (level, number) in levels.iter_mut().zip(finest..=WAVELET_LEVELS) {
            first = first.saturating_sub(DELAY_ROWS);
            let bands = details(component, number);
            let bands = [0, 1, 2].map(|band| source.band(bands.start + band));
            *level = Level::new(&taps[number - 1], (&source, number), bands, first, arena);
            first = first.div_ceil(2);
        }
        Self { levels, count: WAVELET_LEVELS + 1 - finest, low: source.band(component) }
    }

    /// Writes row `y` of the plane. Callers read rows in order.
    pub(crate) fn row(&mut self, y: usize, out: &mut [T]) {
        self.sparse_row(y, (out, Segments::MAX));
    }

    /// As [`Component::row`]. Returns the segments that may be other than zero; before, only those in `before` may be.
    pub(super) fn sparse_row(&mut self, y: usize, out: (&mut [T], Segments)) -> Segments {
        row(&mut self.levels[..self.count], self.low, y, out)
    }

    /// The samples of a row in a segment.
    pub(super) fn segment(&self) -> usize {
        2 * self.levels[0].shape.segment
    }
}

/// Writes row `y` of the finest of these levels, and returns the segments that may be other than zero. Before, only those
/// in `before` may be.
fn row<T: Sample>(
    levels: &mut [Level<'_, T>],
    low: Band<'_, T>,
    y: usize,
    (out, before): (&mut [T], Segments),
) -> Segments {
    let Some((level, coarser)) = levels.split_first_mut() else {
        return low.copy_row(y, (out, before), |out, row| out.copy_from_slice(row));
    };
    level.enter_until(y + DELAY_ROWS, |y, out| row(coarser, low, y, out), |_, out, row| out.copy_from_slice(row));
    level.join(y, (out, before))
}

impl<C: Copy> Band<'_, C> {
    /// Copies row `y` into `out` by `copy`, and returns the segments that may be other than zero. Before, only those in
    /// `before` may be.
    fn copy_row<T: Sample>(
        &self,
        y: usize,
        (out, before): (&mut [T], Segments),
        mut copy: impl FnMut(&mut [T], &[C]),
    ) -> Segments {
        let segment = self.segment;
        let all = segments::first(out.len().div_ceil(segment));
        let columns = |run: Range<usize>, width: usize| run.start * segment..width.min(run.end * segment);
        let clear = |out: &mut [T], segments: Segments| {
            for run in runs(segments & all) {
                let columns = columns(run, out.len());
                out[columns].fill(T::default());
            }
        };
        if self.values.is_empty() {
            clear(out, before);
            return 0;
        }
        let row = &self.values[y * out.len()..][..out.len()];
        let occupied = match self.occupied {
            Some(occupied) if segment >= MIN_SEGMENT_SAMPLES => occupied[y] & all,
            Some(occupied) if occupied[y] == 0 => 0,
            _ => all,
        };
        if occupied == all {
            copy(out, row);
            return all;
        }
        clear(out, before & !occupied);
        for run in runs(occupied) {
            let columns = columns(run, out.len());
            copy(&mut out[columns.clone()], &row[columns]);
        }
        occupied
    }
}

impl<'a, T: Sample, C: Copy> Level<'a, T, C> {
    /// Its first row that enters is row `first`.
    pub(super) fn new(
        taps: &Taps<T>,
        (source, number): (&Source<'_, C>, usize),
        bands: [Band<'a, C>; 3],
        first: usize,
        arena: &mut Arena<'a, T>,
    ) -> Self {
        let [width, height] = side(source.size, number - 1);
        let shape = Shape { height, halves: [width.div_ceil(2), width / 2], segment: source.segment(number) };
        Self {
            bands,
            shape,
            next: first,
            window: Window::new(taps, Direction::Synthesis, shape, first, arena),
            line: Line::new(taps, Direction::Synthesis, width, arena),
        }
    }

    /// Lets rows enter up to row `last`. `low` writes a row of the low band and returns the segments that may be other than
    /// zero, as [`row`] does; `copy` copies numbers of HL, LH or HH.
    pub(super) fn enter_until(
        &mut self,
        last: usize,
        mut low: impl FnMut(usize, (&mut [T], Segments)) -> Segments,
        mut copy: impl FnMut(usize, &mut [T], &[C]),
    ) {
        let Shape { height, segment, .. } = self.shape;
        while self.next <= last {
            let y = self.next;
            if y < height {
                let [(left, of_left), (right, of_right)] = self.window.halves_mut(y);
                if y.is_multiple_of(2) {
                    *of_left = low(y / 2, (left, *of_left));
                    if *of_left != 0 && segment < MIN_SEGMENT_SAMPLES {
                        *of_left = segments::first(left.len().div_ceil(segment));
                    }
                    *of_right = self.bands[0].copy_row(y / 2, (right, *of_right), |out, row| copy(0, out, row));
                } else {
                    *of_left = self.bands[1].copy_row(y / 2, (left, *of_left), |out, row| copy(1, out, row));
                    *of_right = self.bands[2].copy_row(y / 2, (right, *of_right), |out, row| copy(2, out, row));
                }
            }
            self.window.enter(y);
            self.next += 1;
        }
    }

    /// Writes row `y`, for which all rows have entered, and returns the segments that may be other than zero. Before, only
    /// those in `before` may be.
    pub(super) fn join(&mut self, y: usize, (out, before): (&mut [T], Segments)) -> Segments {
        let (samples, occupied) = self.window.row(y);
        let halves = samples.split_at(self.shape.halves[0]).into();
        let joined = self.line.join(halves, occupied, self.shape.segment, (&mut *out, before));
        if joined != 0 && self.shape.segment < MIN_SEGMENT_SAMPLES {
            let segments = out.chunks(2 * self.shape.segment).enumerate();
            let occupied = |samples: &[T]| samples.iter().any(|sample| *sample != T::default());
            segments.map(|(at, samples)| Segments::from(occupied(samples)) << at).sum()
        } else {
            joined
        }
    }
}
