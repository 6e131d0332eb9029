//! Turns coefficients or planes into pictures through the post-filter, a row of blocks at a time.

use crate::colour::convert::FromPlanes;
use crate::colour::planes::Planes;
use crate::parallel::{self, Threads};
use crate::picture::{PlaneMut, ViewMut};
use crate::post_filter::table::Filters;
use crate::post_filter::window::{FilteredRows, PlaneRows, Window, add};
use crate::post_filter::{BLOCK_SIDE, FRACTION_BITS, blocks};
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::WAVELET_LEVELS;
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::Division;
use crate::wavelet::synthesis::{Component, Source};

/// Reused memory: floats, and the filter's samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory<'a> {
    pub(super) floats: &'a Scratch,
    pub(super) samples: &'a Scratch<i16>,
}

/// Fills `out` with the picture of these coefficients.
pub(super) fn of_coefficients(
    taps: &[Taps; WAVELET_LEVELS],
    coefficients: &Coefficients,
    filter: (&Filters<'_>, &[Vec<u8>]),
    division: (&Threads, Division),
    memory: Memory<'_>,
    out: ViewMut<'_>,
) {
    let sources = [0, 1, 2].map(|component| Source::of(taps, coefficients, component));
    let from_planes = FromPlanes::new(out.format, coefficients.axes);
    let count = coefficients.channels.count();
    strips(filter, division, out, |top, job| {
        memory.floats.lend(count * Component::numbers(&sources[0]), |floats| {
            let mut arena = Arena(floats);
            let mut components: [Component<'_, f32>; 3] = Default::default();
            // Strips share no row of a band of the two finest levels.
            let first = top.saturating_sub(BLOCK_SIDE);
            for (component, source) in components.iter_mut().zip(sources).take(count) {
                *component = Component::new(source, first, &mut arena);
            }
            job.run(Synthesised(components), count, from_planes, memory);
        });
    });
}

/// Fills `out` with the picture of these planes.
pub(super) fn of_planes(
    planes: &Planes,
    filter: (&Filters<'_>, &[Vec<u8>]),
    division: (&Threads, Division),
    memory: Memory<'_>,
    out: ViewMut<'_>,
) {
    let from_planes = FromPlanes::new(out.format, planes.axes);
    strips(filter, division, out, |_, job| job.run(Given(planes), planes.channels.count(), from_planes, memory));
}

/// Calls `work` for every strip of a picture, with its first row.
fn strips(
    (filters, significance): (&Filters<'_>, &[Vec<u8>]),
    (threads, division): (&Threads, Division),
    mut out: ViewMut<'_>,
    work: impl Fn(usize, Strip<'_, '_>) + Sync,
) {
    let size = out.size;
    let jobs = division.strips(size.height()).map(|rows| {
        let out = out.split_off(rows.len());
        (
            rows.start,
            Strip {
                filters,
                significance,
                size: [size.width(), size.height()],
                top: rows.start,
                rows: rows.len(),
                out,
            },
        )
    });
    parallel::for_each(threads, jobs, |(top, strip)| work(top, strip));
}

/// The rows of a picture, from `top` on, that one thread makes.
struct Strip<'a, 'b> {
    filters: &'a Filters<'a>,
    significance: &'a [Vec<u8>],
    size: [usize; 2],
    top: usize,
    rows: usize,
    out: [PlaneMut<'b>; 3],
}

impl Strip<'_, '_> {
    /// Filters planes of `count` components and converts them to samples.
    fn run(mut self, rows: impl FloatRows, count: usize, from_planes: FromPlanes, memory: Memory<'_>) {
        let [width, height] = self.size;
        let tile = BLOCK_SIDE * width;
        memory.floats.lend(width + count * tile, |floats| {
            memory.samples.lend(Window::numbers(width, &(0..count)), |samples| {
                let mut floats = Arena(floats);
                let mut samples = Arena(samples);
                let mut rows = Rounded { rows, line: floats.take(width) };
                let mut planes = Tile { width, planes: Default::default() };
                planes.planes[..count].fill_with(|| floats.take(tile));
                let mut window = Window::new([width, height], 0..count, self.top, &mut rows, &mut samples);
                let across = blocks(width);
                for done in (0..self.rows).step_by(BLOCK_SIDE) {
                    if done > 0 {
                        window.descend(&mut rows);
                    }
                    let first = (self.top + done) / BLOCK_SIDE * across;
                    let mut blocks = self.significance.iter().map(|of_all| &of_all[first..first + across]);
                    let significance = std::array::from_fn(|_| blocks.next().unwrap_or_default());
                    window.filter(self.filters, significance, &mut planes);
                    let planes = planes.planes.each_ref().map(|plane| &**plane);
                    from_planes.rows(planes, width, done..(done + BLOCK_SIDE).min(self.rows), &mut self.out);
                }
            });
        });
    }
}

/// The filtered rows of a row of blocks, by component.
struct Tile<'a> {
    width: usize,
    planes: [&'a mut [f32]; 3],
}

impl FilteredRows for Tile<'_> {
    fn take(&mut self, component: usize, row: usize, first: usize, samples: &[i16], corrections: &[i16]) {
        let out = &mut self.planes[component][row * self.width + first..];
        widest!(add(samples, corrections, out));
    }
}

/// Rows in floats; each is read once, from top to bottom.
trait FloatRows {
    /// Writes row `y` of a component into `out`.
    fn row(&mut self, component: usize, y: usize, out: &mut [f32]);
}

/// Rounds rows for the filter.
struct Rounded<'a, R> {
    rows: R,
    line: &'a mut [f32],
}

impl<R: FloatRows> PlaneRows for Rounded<'_, R> {
    fn row(&mut self, component: usize, y: usize, out: &mut [i16]) {
        self.rows.row(component, y, self.line);
        widest!(round(self.line, out));
    }
}

/// Rounds values to the nearest multiples of 1/64.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "clamped; what is not a number becomes 0")]
fn round(values: &[f32], row: &mut [i16]) {
    const MAX_SAMPLE: f32 = i16::MAX as f32;
    const SAMPLE_SCALE: f32 = (1 << FRACTION_BITS) as f32;
    /// A sum with this has no fraction bits.
    const ROUNDING_OFFSET: f32 = 12_582_912.0;
    for (sample, value) in row.iter_mut().zip(values) {
        let value = value * SAMPLE_SCALE;
        let value = if value > -MAX_SAMPLE { value } else { -MAX_SAMPLE };
        let value = if value < MAX_SAMPLE { value } else { MAX_SAMPLE };
        *sample = ((value + ROUNDING_OFFSET).to_bits().wrapping_sub(ROUNDING_OFFSET.to_bits())) as i16;
    }
}

/// Planes that the wavelet makes.
struct Synthesised<'a>([Component<'a, f32>; 3]);

impl FloatRows for Synthesised<'_> {
    fn row(&mut self, component: usize, y: usize, out: &mut [f32]) {
        self.0[component].row(y, out);
    }
}

/// Planes that exist already.
struct Given<'a>(&'a Planes);

impl FloatRows for Given<'_> {
    fn row(&mut self, component: usize, y: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.0.components[component][y * out.len()..][..out.len()]);
    }
}
