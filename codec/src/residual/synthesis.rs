//! Turns coefficients back into residuals, in integers.

use std::ops::Range;

use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::residual::planes::plane_size;
use crate::scratch::{Arena, Scratch};
use crate::subband::layout::ChromaFormat;
use crate::subband::quantise::COEFFICIENT_FRACTION;
use crate::subband::sparse::SparseBands;
use crate::wavelet::integer::{IntegerWavelet, NarrowComponent};
use crate::wavelet::strips::Division;
use crate::wavelet::synthesis::{Component, Source};

/// Fraction bits of a residual.
const RESIDUAL_FRACTION: u32 = 3;
/// Residuals are less than 512 sample steps in either direction.
const MIN_RESIDUAL: i16 = -(512 << RESIDUAL_FRACTION);
const MAX_RESIDUAL: i16 = (512 << RESIDUAL_FRACTION) - 1;

/// Samples before they are rounded to residuals, in 1/16 of a step.
pub(crate) trait Fine: Copy {
    /// Returns the nearest residual, half up.
    fn residual(self) -> i16;
}

const DROPPED_BITS: u32 = COEFFICIENT_FRACTION - RESIDUAL_FRACTION;

impl Fine for i32 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    fn residual(self) -> i16 {
        let nearest = self.wrapping_add(1 << (DROPPED_BITS - 1)) >> DROPPED_BITS;
        // Clamped in two steps: processors have an instruction for each.
        let short = nearest.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        short.clamp(MIN_RESIDUAL, MAX_RESIDUAL)
    }
}

impl Fine for i16 {
    #[inline(always)]
    fn residual(self) -> i16 {
        (self.saturating_add(1 << (DROPPED_BITS - 1)) >> DROPPED_BITS).clamp(MIN_RESIDUAL, MAX_RESIDUAL)
    }
}

/// Receives some rows of one plane of a residual, from top to bottom.
pub(crate) trait Rows: Send {
    /// Takes row `y` of the plane.
    fn take<T: Fine>(&mut self, y: usize, samples: &[T]);

    /// All rows were taken.
    fn finish(&mut self) {}
}

/// Memory that is used again: numbers of 32 and of 16 bits.
#[derive(Debug, Default)]
pub(super) struct Memory {
    numbers: Scratch<i32>,
    short: Scratch<i16>,
}

/// Makes the residual of these subbands. `rows` returns what takes these rows of a plane: plane by plane, each from top
/// to bottom.
pub(super) fn synthesise<R: Rows>(
    wavelet: &IntegerWavelet,
    subbands: &SparseBands<i32>,
    size: Size,
    (threads, memory): (&Threads, &Memory),
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
        let source = Source { taps: &wavelet.taps, subbands, occupied: Some(occupied), size, component, finest };
        (source, width, strip.clone(), rows(component, strip))
    });
    parallel::for_each(threads, jobs, |(source, width, strip, mut rows)| {
        let done = narrow_rows(wavelet, source, (strip.clone(), width), memory, &mut rows);
        if done < strip.end {
            wide_rows(source, (done..strip.end, width), memory, &mut rows);
        }
        rows.finish();
    });
}

/// Makes the rows whose finest level has 16 bits throughout, and returns the row after the last.
fn narrow_rows(
    wavelet: &IntegerWavelet,
    source: Source<'_, i32>,
    (strip, width): (Range<usize>, usize),
    memory: &Memory,
    rows: &mut impl Rows,
) -> usize {
    let [numbers, short] = NarrowComponent::numbers(&source);
    // As many as [`wide_rows`] takes, so that no later frame takes more memory.
    memory.numbers.lend(numbers.max(wide_numbers(&source, width)), |numbers| {
        memory.short.lend(width + short, |short| {
            let mut short = Arena(short);
            let line = short.take(width);
            let arenas = (&mut Arena(numbers), &mut short);
            let Some(mut component) = NarrowComponent::new(wavelet, source, strip.start, arenas) else {
                return strip.start;
            };
            for y in strip.clone() {
                if !component.row(y, line) {
                    return y;
                }
                rows.take(y, line);
            }
            strip.end
        })
    })
}

/// The numbers that [`wide_rows`] takes.
fn wide_numbers(source: &Source<'_, i32>, width: usize) -> usize {
    width + Component::numbers(source)
}

/// Makes rows in 32 bits.
fn wide_rows(source: Source<'_, i32>, (strip, width): (Range<usize>, usize), memory: &Memory, rows: &mut impl Rows) {
    memory.numbers.lend(wide_numbers(&source, width), |numbers| {
        let mut arena = Arena(numbers);
        let line = arena.take(width);
        let mut component = Component::new(source, strip.start, &mut arena);
        for y in strip {
            component.row(y, line);
            rows.take(y, line);
        }
    });
}

/// Rounds samples to residuals.
#[inline(always)]
pub(crate) fn round<T: Fine>(samples: &[T], residuals: &mut [i16]) {
    residuals.iter_mut().zip(samples).for_each(|(residual, sample)| *residual = sample.residual());
}
