//! Splits residuals into the coefficients of their subbands, in floats: the encoder's analysis is not normative.

use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::residual::planes::{Planes420, plane_size};
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::subband::coefficients;
use crate::subband::layout::{ChromaFormat, LEVELS};
use crate::wavelet::analysis::component::{Component, Share};
use crate::wavelet::analysis::own_bands;

/// Residual steps in one step of an 8-bit sample.
const STEPS_A_SAMPLE: f32 = 8.0;

/// Fills `subbands` with those of a residual, in steps of samples. One thread works on each plane.
pub(super) fn analyse(
    model: &Model,
    residual: &Planes420<i16>,
    threads: &Threads,
    scratch: &Scratch,
    subbands: &mut Vec<Vec<f32>>,
) {
    let size = residual.size();
    coefficients::resize(subbands, |index| coefficients::count(index, size, ChromaFormat::Half));
    let mut bands = coefficients::as_slices(subbands);
    let jobs = residual.planes().iter().enumerate().map(|(component, plane)| {
        let own = own_bands(&mut bands, component);
        (component, plane, own)
    });
    parallel::for_each(threads, jobs, |(component, plane, mut bands)| {
        let levels = ChromaFormat::Half.finest_level(component)..=LEVELS;
        let width = plane_size(size, component).width();
        scratch.lend(width + Component::floats(size, levels.clone()), |floats| {
            let mut arena = Arena(floats);
            let line = arena.take(width);
            let low = std::mem::take(&mut bands[component]);
            let share = Share { component, rows: 0..size.height(), bands: &mut bands, low };
            let (mut component, _) = Component::new(&model.taps, size, levels, share, &mut arena);
            for row in plane.chunks(width) {
                widest!(widen(row, line));
                component.push(line);
            }
            component.finish();
        });
    });
}

#[inline(always)]
fn widen(residuals: &[i16], values: &mut [f32]) {
    for (value, residual) in values.iter_mut().zip(residuals) {
        *value = f32::from(*residual) / STEPS_A_SAMPLE;
    }
}
