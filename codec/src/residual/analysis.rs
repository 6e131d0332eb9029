//! Splits residuals into the coefficients of their subbands, in floats: the encoder's analysis is not normative.

use std::ops::RangeInclusive;

use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::residual::planes::Planes420;
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::subband::coefficients;
use crate::subband::layout::{ChromaFormat, SUBBAND_COUNT, WAVELET_LEVELS, side};
use crate::wavelet::analysis::component::{Component, Share};
use crate::wavelet::analysis::own_bands;
use crate::wavelet::strips::Division;

/// Residual steps in one step of an 8-bit sample.
const STEPS_A_SAMPLE: f32 = 8.0;
/// Strips make two rounds of work of one: smaller frames take less time than another thread needs to wake.
const MIN_PIXELS_IN_STRIPS: usize = 1 << 17;

/// The rows of a residual.
pub(crate) trait Source: Sync {
    /// Fills in row `y` of a plane, in steps of samples ([`steps_of_samples`]). Strips also ask for rows around their own;
    /// `is_own`: every row of a plane is one strip's own.
    fn row(&self, plane: usize, y: usize, is_own: bool, out: &mut [f32]);
}

/// Fills `subbands` with those of a residual. The finest level of luma is divided into strips; the others need less
/// time, and one thread works on those of each plane.
pub(super) fn analyse(
    model: &Model,
    (size, source): (Size, &impl Source),
    threads: &Threads,
    scratch: &Scratch,
    subbands: &mut Vec<Vec<f32>>,
) {
    coefficients::resize(subbands, |index| coefficients::count(index, size, ChromaFormat::Half));
    let division = Division::new(size, threads.count());
    if size.pixels() < MIN_PIXELS_IN_STRIPS || division.strips(size.height()).nth(1).is_none() {
        let whole = |plane| (plane, ChromaFormat::Half.finest_level(plane), None);
        return analyse_planes(model, (size, source), threads, scratch, subbands, [0, 1, 2].map(whole));
    }
    let [width, height] = side(size, 1);
    scratch.lend(width * height, |low| {
        let mut rest = &mut *low;
        let strips = division.strips(size.height());
        let jobs = strips.clone().zip(coefficients::slices_mut(subbands, size, strips)).map(|(strip, bands)| {
            let count = rest.len().min(strip.len().div_ceil(2) * width);
            (strip, bands, rest.split_off_mut(..count).unwrap_or_default())
        });
        parallel::for_each(threads, jobs, |(strip, mut bands, low)| {
            let share = Share { component: 0, rows: strip, bands: &mut bands, low };
            split(model, (size, source), scratch, 1..=1, share);
        });
        let rows = |plane| (plane, 2, (plane == 0).then_some(&*low));
        analyse_planes(model, (size, source), threads, scratch, subbands, [0, 1, 2].map(rows));
    });
}

/// Fills in the bands of planes from these levels on, from the low band before it, or from the source.
fn analyse_planes(
    model: &Model,
    (size, source): (Size, &impl Source),
    threads: &Threads,
    scratch: &Scratch,
    subbands: &mut [Vec<f32>],
    planes: [(usize, usize, Option<&[f32]>); 3],
) {
    let mut bands: [&mut [f32]; SUBBAND_COUNT] = coefficients::as_slices(subbands);
    let jobs = planes.into_iter().map(|(plane, level, low)| (plane, level, low, own_bands(&mut bands, plane)));
    parallel::for_each(threads, jobs, |(plane, level, rows, mut bands)| {
        let low = std::mem::take(&mut bands[plane]);
        let share = Share { component: plane, rows: 0..size.height(), bands: &mut bands, low };
        match rows {
            Some(rows) => split(
                model,
                (size, &Low { width: side(size, level - 1)[0], rows }),
                scratch,
                level..=WAVELET_LEVELS,
                share,
            ),
            None => split(model, (size, source), scratch, level..=WAVELET_LEVELS, share),
        }
    });
}
/// Splits rows into the bands of some levels.
fn split(
    model: &Model,
    (size, source): (Size, &impl Source),
    scratch: &Scratch,
    levels: RangeInclusive<usize>,
    share: Share<'_, '_, '_>,
) {
    let (plane, finer) = (share.component, *levels.start() - 1);
    let own = share.rows.start >> finer..share.rows.end.div_ceil(1 << finer);
    let [width, _] = side(size, finer);
    scratch.lend(width + Component::floats(size, levels.clone()), |floats| {
        let mut arena = Arena(floats);
        let line = arena.take(width);
        let (mut component, needed) = Component::new(&model.taps, size, levels, share, &mut arena);
        for y in needed {
            source.row(plane, y, own.contains(&y), line);
            component.push(line);
        }
        component.finish();
    });
}

/// The low band of a finer level.
struct Low<'a> {
    width: usize,
    rows: &'a [f32],
}

impl Source for Low<'_> {
    fn row(&self, _: usize, y: usize, _: bool, out: &mut [f32]) {
        out.copy_from_slice(&self.rows[y * self.width..][..self.width]);
    }
}

/// A residual that exists already.
impl Source for Planes420<i16> {
    fn row(&self, plane: usize, y: usize, _: bool, out: &mut [f32]) {
        let width = out.len();
        widest!(widen(&self.planes()[plane][y * width..], out));
    }
}

#[inline(always)]
fn widen(residuals: &[i16], values: &mut [f32]) {
    values.iter_mut().zip(residuals).for_each(|(value, residual)| *value = steps_of_samples(*residual));
}

/// Returns a residual in steps of samples.
#[inline(always)]
pub(crate) fn steps_of_samples(residual: i16) -> f32 {
    f32::from(residual) / STEPS_A_SAMPLE
}
