//! Coefficients to planes or pictures, row by row: a row of a level is made when the finer level asks for it, so that
//! no level but the last is ever held whole.

use crate::colour::convert::FromPlanes;
use crate::colour::planes::Planes;
use crate::parallel;
use crate::picture::ViewMut;
use crate::scratch::{Arena, Scratch};
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{LEVELS, details};
use crate::wavelet::lift::{Direction, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY, Window};
use crate::wavelet::strips::{Division, TILE};

/// The planes of these coefficients, so divided.
pub(crate) fn planes(
    taps: &[Taps; LEVELS],
    coefficients: &Coefficients,
    division: Division,
    scratch: &Scratch,
) -> Planes {
    let (size, channels) = (coefficients.size, coefficients.channels);
    let mut components = vec![vec![0.0; size.pixels()]; channels.count()];
    let jobs = components.iter_mut().enumerate().flat_map(|(component, plane)| {
        let parts = plane.chunks_mut(division.rows * size.width());
        division.strips(size.height()).zip(parts).map(move |(strip, part)| (component, strip, part))
    });
    parallel::for_each(division.threads, jobs, |(component, strip, part)| {
        scratch.lend(Component::floats(size.width()), |floats| {
            let mut component = Component::new(taps, coefficients, component, strip.start, &mut Arena(floats));
            for (y, row) in strip.zip(part.chunks_mut(size.width())) {
                component.row(y, row);
            }
        });
    });
    Planes { size, channels, axes: coefficients.axes, components }
}

/// Fills in the picture of these coefficients, so divided.
pub(crate) fn picture(
    taps: &[Taps; LEVELS],
    coefficients: &Coefficients,
    division: Division,
    scratch: &Scratch,
    mut out: ViewMut<'_>,
) {
    let (size, count) = (coefficients.size, coefficients.channels.count());
    let width = size.width();
    let from_planes = FromPlanes::new(out.format, coefficients.axes);
    let jobs = division.strips(size.height()).map(|strip| {
        let rows = out.split_off(strip.len());
        (strip, rows)
    });
    let tile = TILE * width * count;
    let floats = tile + count * Component::floats(width);
    parallel::for_each(division.threads, jobs, |(strip, mut out)| {
        scratch.lend(floats, |floats| {
            let mut arena = Arena(floats);
            let mut tile = arena.take(tile).chunks_mut(TILE * width);
            let mut tile: [&mut [f32]; 3] = std::array::from_fn(|_| tile.next().unwrap_or_default());
            let mut components: [Component<'_>; 3] = Default::default();
            for (number, component) in components.iter_mut().enumerate().take(count) {
                *component = Component::new(taps, coefficients, number, strip.start, &mut arena);
            }
            for top in strip.clone().step_by(TILE) {
                let rows = top..(top + TILE).min(strip.end);
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

/// The rows of one component, from one of them on.
#[derive(Default)]
struct Component<'a> {
    /// Finest first.
    levels: [Level<'a>; LEVELS],
    low: &'a [f32],
}

#[derive(Default)]
struct Level<'a> {
    /// HL, LH, HH.
    bands: &'a [Vec<f32>],
    height: usize,
    /// Samples of the left half: the low ones.
    left: usize,
    /// The row that enters next.
    next: usize,
    window: Window<'a>,
    line: Line<'a>,
}

impl<'a> Component<'a> {
    /// Floats that [`Component::new`] takes, for a picture of this width.
    fn floats(width: usize) -> usize {
        let widths = (0..LEVELS).map(|level| width.div_ceil(1 << level));
        widths.map(|width| Window::floats(width) + Line::floats(width)).sum()
    }

    /// Gives row `first` first.
    fn new(
        taps: &[Taps; LEVELS],
        coefficients: &'a Coefficients,
        component: usize,
        mut first: usize,
        arena: &mut Arena<'a>,
    ) -> Self {
        let size = coefficients.size;
        let (mut width, mut height) = (size.width(), size.height());
        let levels = std::array::from_fn(|level| {
            first = first.saturating_sub(DELAY);
            let taps = &taps[level];
            let level = Level {
                bands: &coefficients.subbands[details(component, level + 1)],
                height,
                left: width.div_ceil(2),
                next: first,
                window: Window::new(taps, Direction::Synthesis, [width, height], first, arena),
                line: Line::new(taps, Direction::Synthesis, width, arena),
            };
            (width, height, first) = (width.div_ceil(2), height.div_ceil(2), first.div_ceil(2));
            level
        });
        Self { levels, low: &coefficients.subbands[component] }
    }

    /// Row `y` of the plane. Rows are asked for one after another.
    fn row(&mut self, y: usize, out: &mut [f32]) {
        row(&mut self.levels, self.low, y, out);
    }
}

/// Row `y` of the finest of these levels.
fn row(levels: &mut [Level<'_>], low: &[f32], y: usize, out: &mut [f32]) {
    let Some((level, coarser)) = levels.split_first_mut() else {
        out.copy_from_slice(&low[y * out.len()..][..out.len()]);
        return;
    };
    while level.next <= y + DELAY {
        level.enter(coarser, low);
    }
    level.line.join(level.window.row(y), out);
}

impl Level<'_> {
    fn enter(&mut self, coarser: &mut [Level<'_>], low: &[f32]) {
        let y = self.next;
        if y < self.height {
            let (left, right) = self.window.row_mut(y).split_at_mut(self.left);
            let band = |number: usize, width: usize| &self.bands[number][y / 2 * width..][..width];
            if y.is_multiple_of(2) {
                row(coarser, low, y / 2, left);
                right.copy_from_slice(band(0, right.len()));
            } else {
                left.copy_from_slice(band(1, left.len()));
                right.copy_from_slice(band(2, right.len()));
            }
        }
        self.window.enter(y);
        self.next += 1;
    }
}
