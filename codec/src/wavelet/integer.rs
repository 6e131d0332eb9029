//! The synthesis of residuals in integers: all levels in 32 bits, or the finest in 16 while its numbers fit.

use crate::scratch::Arena;
use crate::simd::widest;
use crate::subband::layout::{WAVELET_LEVELS, details, side};
use crate::subband::segments::{Segments, runs};
use crate::wavelet::bounds::Bounds;
use crate::wavelet::lift::{self, LIFTING_STEPS, Taps};
use crate::wavelet::line::Line;
use crate::wavelet::rows::{DELAY_ROWS, Window};
use crate::wavelet::synthesis::{Component, Level, Source};

/// The taps of all levels as integers, the finest first.
#[derive(Debug, Clone)]
pub(crate) struct IntegerWavelet {
    pub(crate) taps: [Taps<i32>; WAVELET_LEVELS],
    /// Levels whose taps have 16 bits.
    narrow: [Option<Narrow>; WAVELET_LEVELS],
}

/// A level's taps in 16 bits, and the bounds of its numbers.
#[derive(Debug, Clone)]
struct Narrow {
    taps: Taps<i16>,
    bounds: Bounds,
}

impl Narrow {
    fn new(taps: &Taps<i32>) -> Option<Self> {
        let mut short = [[0; 2]; LIFTING_STEPS];
        for (short, tap) in short.as_flattened_mut().iter_mut().zip(taps.as_flattened()) {
            *short = i16::try_from(*tap).ok().filter(|tap| *tap != i16::MIN)?;
        }
        Some(Self { taps: short, bounds: Bounds::new(taps) })
    }
}

impl IntegerWavelet {
    pub(crate) fn new(taps: &[Taps; WAVELET_LEVELS]) -> Self {
        let taps = lift::integers(taps);
        let narrow = taps.each_ref().map(Narrow::new);
        Self { taps, narrow }
    }
}

/// The rows of one component, from one of them on, whose finest level has 16 bits.
pub(crate) struct NarrowComponent<'a> {
    coarser: Component<'a, i32>,
    bounds: &'a Bounds,
    level: Level<'a, i16, i32>,
    /// A row of the low band in 32 bits, and its segments that may be other than zero.
    low: (&'a mut [i32], Segments),
    /// The greatest coefficients so far of the low band, HL, LH and HH.
    greatest: [u32; 4],
    fits: bool,
}

impl<'a> NarrowComponent<'a> {
    /// The numbers of 32 and of 16 bits that [`NarrowComponent::new`] takes.
    pub(crate) fn numbers(source: &Source<'_, i32>) -> [usize; 2] {
        let [width, _] = side(source.size, source.finest - 1);
        let coarser = Component::numbers(&Source { finest: source.finest + 1, ..*source });
        [coarser + width.div_ceil(2), Window::<i16>::numbers(width) + Line::<i16>::numbers(width)]
    }

    /// Its first row is row `first`; `None` if the level's taps have more than 16 bits.
    pub(crate) fn new(
        wavelet: &'a IntegerWavelet,
        source: Source<'a, i32>,
        first: usize,
        (numbers, short): (&mut Arena<'a, i32>, &mut Arena<'a, i16>),
    ) -> Option<Self> {
        let Source { size, component, finest, .. } = source;
        let Narrow { taps, bounds } = wavelet.narrow[finest - 1].as_ref()?;
        let first = first.saturating_sub(DELAY_ROWS);
        let [width, _] = side(size, finest - 1);
        let bands = details(component, finest);
        let bands = [0, 1, 2].map(|band| source.band(bands.start + band));
        let level = Level::new(taps, (&source, finest), bands, first, short);
        let low = (numbers.take(width.div_ceil(2)), Segments::MAX);
        let coarser = Component::new(Source { finest: finest + 1, ..source }, first.div_ceil(2), numbers);
        Some(Self { coarser, bounds, level, low, greatest: [0; 4], fits: true })
    }

    /// Writes row `y` of the plane, unless a number may need more than 16 bits: then it returns false, here and for all
    /// later rows. Callers read rows in order.
    pub(crate) fn row(&mut self, y: usize, out: &mut [i16]) -> bool {
        let Self { coarser, bounds, level, low, greatest, fits } = self;
        let before = *greatest;
        let [of_low, of_details @ ..] = greatest;
        level.enter_until(
            y + DELAY_ROWS,
            |y, (out, before)| {
                let (line, occupied) = &mut *low;
                *occupied = coarser.sparse_row(y, (line, *occupied));
                let segment = coarser.segment();
                for run in runs(before & !*occupied) {
                    let end = out.len().min(run.end * segment);
                    if run.start * segment < end {
                        out[run.start * segment..end].fill(0);
                    }
                }
                for run in runs(*occupied) {
                    let end = out.len().min(run.end * segment);
                    if run.start * segment < end {
                        copy(&mut out[run.start * segment..end], &line[run.start * segment..end], of_low);
                    }
                }
                *occupied
            },
            |band, out, row| copy(out, row, &mut of_details[band]),
        );
        if *greatest != before {
            *fits &= bounds.fit(*greatest);
        }
        if *fits {
            level.join(y, (out, Segments::MAX));
        }
        *fits
    }
}

/// Copies numbers that have 16 bits, and notes the greatest.
fn copy(out: &mut [i16], numbers: &[i32], greatest: &mut u32) {
    widest!(narrow(out, numbers, greatest));
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn narrow(out: &mut [i16], numbers: &[i32], greatest: &mut u32) {
    let mut most = 0;
    for (out, number) in out.iter_mut().zip(numbers) {
        *out = (*number).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        most = most.max(number.unsigned_abs());
    }
    *greatest = most.max(*greatest);
}
