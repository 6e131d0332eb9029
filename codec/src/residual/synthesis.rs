//! Turns coefficients back into residuals, in integers.

use crate::parallel;
use crate::residual::planes::{Planes420, plane_size};
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::subband::layout::{ChromaFormat, LEVELS};
use crate::subband::quantise::COEFFICIENT_FRACTION;
use crate::subband::segments::runs;
use crate::subband::sparse::SparseBands;
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::Division;
use crate::wavelet::synthesis::{Component, Source};

/// Fraction bits of a residual.
const RESIDUAL_FRACTION: u32 = 3;
/// Residuals are less than 512 sample steps in either direction.
const MIN_RESIDUAL: i16 = -(512 << RESIDUAL_FRACTION);
const MAX_RESIDUAL: i16 = (512 << RESIDUAL_FRACTION) - 1;

/// Fills `out` with the residual of these subbands.
pub(super) fn synthesise(
    taps: &[Taps<i32>; LEVELS],
    subbands: &SparseBands<i32>,
    threads: usize,
    scratch: &Scratch<i32>,
    out: &mut Planes420<i16>,
) {
    let size = out.size();
    let (subbands, occupied) = subbands.parts();
    let jobs = out.planes_mut().into_iter().enumerate().flat_map(|(component, plane)| {
        let plane_size = plane_size(size, component);
        let division = Division::new(plane_size, threads);
        let width = plane_size.width();
        let finest = ChromaFormat::Half.finest_level(component);
        let source = Source { taps, subbands, occupied: Some(occupied), size, component, finest };
        let parts = plane.chunks_mut(division.rows * width);
        division.strips(plane_size.height()).zip(parts).map(move |(strip, part)| (source, width, strip, part))
    });
    parallel::for_each(threads, jobs, |(source, width, strip, part)| {
        scratch.lend(width + Component::numbers(&source), |numbers| {
            let mut arena = Arena(numbers);
            let line = arena.take(width);
            let mut component = Component::new(source, strip.start, &mut arena);
            for (y, row) in strip.zip(part.chunks_mut(width)) {
                let (occupied, segment) = component.row(y, line);
                row.fill(0);
                for run in runs(occupied) {
                    let columns = run.start * segment..width.min(run.end * segment);
                    widest!(round(&line[columns.clone()], &mut row[columns]));
                }
            }
        });
    });
}

/// Rounds samples to the nearest residuals, half up.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn round(samples: &[i32], residuals: &mut [i16]) {
    const SHIFT: u32 = COEFFICIENT_FRACTION - RESIDUAL_FRACTION;
    for (residual, sample) in residuals.iter_mut().zip(samples) {
        let nearest = sample.wrapping_add(1 << (SHIFT - 1)) >> SHIFT;
        // Clamped in two steps: processors have an instruction for each.
        let short = nearest.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        *residual = short.clamp(MIN_RESIDUAL, MAX_RESIDUAL);
    }
}
