//! Turns coefficients back into residuals, in integers.

use std::ops::Range;

use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::residual::planes::plane_size;
use crate::scratch::{Arena, Scratch};
use crate::subband::layout::{ChromaFormat, LEVELS};
use crate::subband::quantise::COEFFICIENT_FRACTION;
use crate::subband::sparse::SparseBands;
use crate::wavelet::lift::Taps;
use crate::wavelet::strips::Division;
use crate::wavelet::synthesis::{Component, Source};

/// Fraction bits of a residual.
const RESIDUAL_FRACTION: u32 = 3;
/// Residuals are less than 512 sample steps in either direction.
const MIN_RESIDUAL: i16 = -(512 << RESIDUAL_FRACTION);
const MAX_RESIDUAL: i16 = (512 << RESIDUAL_FRACTION) - 1;

/// Receives some rows of one plane of a residual, from top to bottom.
pub(crate) trait Rows: Send {
    /// Takes row `y` of the plane: samples that [`round`] makes residuals of.
    fn take(&mut self, y: usize, samples: &[i32]);

    /// All rows were taken.
    fn finish(&mut self) {}
}

/// Makes the residual of these subbands. `rows` returns what takes these rows of a plane: plane by plane, each from top
/// to bottom.
pub(super) fn synthesise<R: Rows>(
    taps: &[Taps<i32>; LEVELS],
    subbands: &SparseBands<i32>,
    size: Size,
    (threads, scratch): (&Threads, &Scratch<i32>),
    mut rows: impl FnMut(usize, Range<usize>) -> R + Send,
) {
    let (subbands, occupied) = subbands.parts();
    let strips = (0..3).flat_map(|component| {
        let plane_size = plane_size(size, component);
        let strips = Division::new(plane_size, threads.count()).strips(plane_size.height());
        strips.map(move |strip| (component, plane_size.width(), strip))
    });
    let jobs = strips.map(|(component, width, strip)| {
        let finest = ChromaFormat::Half.finest_level(component);
        let source = Source { taps, subbands, occupied: Some(occupied), size, component, finest };
        (source, width, strip.clone(), rows(component, strip))
    });
    parallel::for_each(threads, jobs, |(source, width, strip, mut rows)| {
        scratch.lend(width + Component::numbers(&source), |numbers| {
            let mut arena = Arena(numbers);
            let line = arena.take(width);
            let mut component = Component::new(source, strip.start, &mut arena);
            for y in strip {
                component.row(y, line);
                rows.take(y, line);
            }
        });
        rows.finish();
    });
}

/// Rounds samples to the nearest residuals, half up.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
pub(crate) fn round(samples: &[i32], residuals: &mut [i16]) {
    const SHIFT: u32 = COEFFICIENT_FRACTION - RESIDUAL_FRACTION;
    for (residual, sample) in residuals.iter_mut().zip(samples) {
        let nearest = sample.wrapping_add(1 << (SHIFT - 1)) >> SHIFT;
        // Clamped in two steps: processors have an instruction for each.
        let short = nearest.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        *residual = short.clamp(MIN_RESIDUAL, MAX_RESIDUAL);
    }
}
