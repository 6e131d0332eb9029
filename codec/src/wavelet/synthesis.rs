//! Coefficients to planes or pictures, row by row: a row of a level is made when the finer level asks for it, so that
//! no level but the last is ever held whole.

use crate::colour::convert;
use crate::colour::planes::Planes;
use crate::parallel;
use crate::picture::Picture;
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{LEVELS, details};
use crate::wavelet::lift::{Direction, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY, Window};
use crate::wavelet::strips::{Division, TILE};

/// The planes of these coefficients, so divided.
pub(crate) fn planes(taps: &[Taps; LEVELS], coefficients: &Coefficients, division: Division) -> Planes {
    let (size, channels) = (coefficients.size, coefficients.channels);
    let mut components = vec![vec![0.0; size.pixels()]; channels.count()];
    let jobs = components.iter_mut().enumerate().flat_map(|(component, plane)| {
        let parts = plane.chunks_mut(division.rows * size.width());
        division
            .strips(size.height())
            .zip(parts)
            .map(move |(strip, part)| (Component::new(taps, coefficients, component, strip.start), strip, part))
    });
    let jobs: Vec<_> = jobs.collect();
    parallel::for_each(division.threads, jobs.into_iter(), |(mut component, strip, part)| {
        for (y, row) in strip.zip(part.chunks_mut(size.width())) {
            component.row(y, row);
        }
    });
    Planes { size, channels, axes: coefficients.axes, components }
}

/// The picture of these coefficients, so divided.
pub(crate) fn picture(taps: &[Taps; LEVELS], coefficients: &Coefficients, division: Division) -> Picture {
    let (size, channels) = (coefficients.size, coefficients.channels);
    let (width, count) = (size.width(), channels.count());
    let matrix = coefficients.axes.synthesis();
    let mut samples = vec![0; size.pixels() * count];
    let jobs = division.strips(size.height()).zip(samples.chunks_mut(division.rows * width * count)).map(
        |(strip, samples)| {
            let components = (0..count).map(|i| Component::new(taps, coefficients, i, strip.start));
            (components.collect::<Vec<_>>(), vec![vec![0.0; TILE * width]; count], strip, samples)
        },
    );
    // Here, since memory that a thread takes is new to it.
    let jobs: Vec<_> = jobs.collect();
    parallel::for_each(division.threads, jobs.into_iter(), |(mut components, mut tile, strip, samples)| {
        for (top, samples) in strip.step_by(TILE).zip(samples.chunks_mut(TILE * width * count)) {
            let pixels = samples.len() / count;
            for (component, plane) in components.iter_mut().zip(&mut tile) {
                for (y, row) in (top..).zip(plane[..pixels].chunks_mut(width)) {
                    component.row(y, row);
                }
            }
            convert::to_samples(&matrix, &tile, samples);
        }
    });
    Picture::new(size, channels, samples).expect("one sample for every pixel and channel")
}

/// The rows of one component, from one of them on.
struct Component<'a> {
    /// Finest first.
    levels: Vec<Level<'a>>,
    low: &'a [f32],
}

struct Level<'a> {
    /// HL, LH, HH.
    bands: &'a [Vec<f32>],
    height: usize,
    /// Samples of the left half: the low ones.
    left: usize,
    /// The row that enters next.
    next: usize,
    window: Window,
    line: Line,
}

impl<'a> Component<'a> {
    /// Gives row `first` first.
    fn new(taps: &[Taps; LEVELS], coefficients: &'a Coefficients, component: usize, mut first: usize) -> Self {
        let size = coefficients.size;
        let (mut width, mut height) = (size.width(), size.height());
        let levels = (1..=LEVELS).map(|number| {
            first = first.saturating_sub(DELAY);
            let taps = &taps[number - 1];
            let level = Level {
                bands: &coefficients.subbands[details(component, number)],
                height,
                left: width.div_ceil(2),
                next: first,
                window: Window::new(taps, Direction::Synthesis, [width, height], first),
                line: Line::new(taps, Direction::Synthesis, width),
            };
            (width, height, first) = (width.div_ceil(2), height.div_ceil(2), first.div_ceil(2));
            level
        });
        Self { levels: levels.collect(), low: &coefficients.subbands[component] }
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
