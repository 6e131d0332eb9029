//! Turns coefficients back into residuals, in integers.

use crate::parallel::{self, Threads};
use crate::residual::planes::{Planes420, plane_size};
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::subband::layout::{ChromaFormat, LEVELS};
use crate::subband::quantise::COEFFICIENT_FRACTION;
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::Division;
use crate::wavelet::synthesis::{Component, Source};

/// Fraction bits of a residual.
const RESIDUAL_FRACTION: u32 = 3;
/// Residuals are less than 512 sample steps in either direction.
const MIN_RESIDUAL: i16 = -(512 << RESIDUAL_FRACTION);
const MAX_RESIDUAL: i16 = (512 << RESIDUAL_FRACTION) - 1;

/// Fills `out` with the residual of these subbands; a subband without numbers is zero.
pub(super) fn synthesise(
    taps: &[Taps<i32>; LEVELS],
    subbands: &[Vec<i32>],
    threads: &Threads,
    scratch: &Scratch<i32>,
    out: &mut Planes420<i16>,
) {
    let size = out.size();
    let jobs = out.planes_mut().into_iter().enumerate().flat_map(|(component, plane)| {
        let plane_size = plane_size(size, component);
        let division = Division::new(plane_size, threads.count());
        let width = plane_size.width();
        let finest = ChromaFormat::Half.finest_level(component);
        let source = Source { taps, subbands, size, component, finest };
        let parts = plane.chunks_mut(division.rows * width);
        division.strips(plane_size.height()).zip(parts).map(move |(strip, part)| (source, width, strip, part))
    });
    parallel::for_each(threads, jobs, |(source, width, strip, part)| {
        if source.is_zero() {
            return part.fill(0);
        }
        scratch.lend(width + Component::numbers(&source), |numbers| {
            let mut arena = Arena(numbers);
            let line = arena.take(width);
            let mut component = Component::new(source, strip.start, &mut arena);
            for (y, row) in strip.zip(part.chunks_mut(width)) {
                component.row(y, line);
                widest!(round(line, row));
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
