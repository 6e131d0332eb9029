//! Lifting along a line (spec, "Wavelet"). It has four steps. Each adds to the samples of one parity a symmetric
//! combination of their two nearest and two next neighbours, which have the other parity.
//!
//! Prior art: lifting (Sweldens, "The lifting scheme", 1998; Daubechies and Sweldens, "Factoring wavelet transforms
//! into lifting steps", J. Fourier Anal. Appl. 4(3), 1998). The 9/7 filters of Cohen, Daubechies and Feauveau
//! ("Biorthogonal bases of compactly supported wavelets", 1992) are four such steps of two taps and a scaling; here
//! each step has four trained taps, there is no scaling, and every level has taps of its own.

use crate::simd::widest;
use crate::subband::layout::WAVELET_LEVELS;
use crate::subband::quantise::fixed_point;

/// Lifting steps of a wavelet level.
pub(crate) const LIFTING_STEPS: usize = 4;

/// Taps of one wavelet level, for each lifting step: (near, far).
pub(crate) type Taps<T = f32> = [[T; 2]; LIFTING_STEPS];

/// Rows or samples that a step looks ahead and back.
pub(super) const STEP_REACH: usize = 3;

/// Fraction bits of an integer tap.
pub(super) const TAP_FRACTION: u32 = 12;
/// Half of a product's unit.
pub(super) const HALF_UNIT: i32 = 1 << (TAP_FRACTION - 1);

/// The samples that are lifted: floats, or integers of any scale.
pub(crate) trait Sample: Copy + Default + PartialEq {
    /// Returns the tap that reverses this one.
    fn inverse(tap: Self) -> Self;

    /// Returns `value` after one step; the neighbours are those at the distances -3, -1, 1, 3.
    fn lifted(value: Self, taps: [Self; 2], neighbours: [Self; 4]) -> Self;

    /// Does one step on `target`; the rows of neighbours have as many samples.
    fn lift(target: &mut [Self], taps: [Self; 2], neighbours: [&[Self]; 4]) {
        widest!(lift(target, taps, neighbours));
    }

    /// Does one step along a line: four samples of `source`, one later each time, are the neighbours of a sample.
    fn lift_along(target: &mut [Self], taps: [Self; 2], source: &[Self]) {
        widest!(lift_along(target, taps, source));
    }

    /// Does as [`Sample::lift_along`] on `values`, whose results it writes to `out`.
    fn lift_from(values: &[Self], taps: [Self; 2], source: &[Self], out: &mut [Self]) {
        widest!(lift_from(values, taps, source, out));
    }

    /// Does as [`Sample::lift_along`] on odd samples, and writes each to `out` after its even one. `even` also has the
    /// sample before the first.
    fn interleave(even: &[Self], odd: &[Self], taps: [Self; 2], out: &mut [Self]) {
        widest!(interleave(even, odd, taps, out));
    }
}

#[inline(always)]
fn lift<T: Sample>(target: &mut [T], taps: [T; 2], neighbours: [&[T]; 4]) {
    let n = target.len();
    let [a, b, c, d] = neighbours.map(|row| &row[..n]);
    for (x, value) in target.iter_mut().enumerate() {
        *value = T::lifted(*value, taps, [a[x], b[x], c[x], d[x]]);
    }
}

#[inline(always)]
fn lift_along<T: Sample>(target: &mut [T], taps: [T; 2], source: &[T]) {
    for (value, around) in target.iter_mut().zip(source.array_windows()) {
        *value = T::lifted(*value, taps, *around);
    }
}

#[inline(always)]
fn lift_from<T: Sample>(values: &[T], taps: [T; 2], source: &[T], out: &mut [T]) {
    for ((out, value), around) in out.iter_mut().zip(values).zip(source.array_windows()) {
        *out = T::lifted(*value, taps, *around);
    }
}

#[inline(always)]
fn interleave<T: Sample>(even: &[T], odd: &[T], taps: [T; 2], out: &mut [T]) {
    let pairs = out.as_chunks_mut::<2>().0.iter_mut();
    for ((pair, &odd), around) in pairs.zip(odd).zip(even.array_windows()) {
        *pair = [around[1], T::lifted(odd, taps, *around)];
    }
}

impl Sample for f32 {
    fn inverse(tap: Self) -> Self {
        -tap
    }

    #[inline(always)]
    fn lifted(value: Self, [near, far]: [Self; 2], [a, b, c, d]: [Self; 4]) -> Self {
        value + (near * (b + c) + far * (a + d))
    }
}

/// Modulo 2^32 (spec, "Frames: residual bitstream"): synthesis rounds the sum that it subtracts, half up.
impl Sample for i32 {
    fn inverse(tap: Self) -> Self {
        tap.wrapping_neg()
    }

    #[inline(always)]
    fn lifted(value: Self, [near, far]: [Self; 2], [a, b, c, d]: [Self; 4]) -> Self {
        let added = near.wrapping_mul(b.wrapping_add(c)).wrapping_add(far.wrapping_mul(a.wrapping_add(d)));
        value.wrapping_sub(HALF_UNIT.wrapping_sub(added) >> TAP_FRACTION)
    }
}

/// Returns the taps of all levels as integers (spec, "Frames: residual bitstream").
pub(crate) fn integers(taps: &[Taps; WAVELET_LEVELS]) -> [Taps<i32>; WAVELET_LEVELS] {
    taps.map(|level| level.map(|step| step.map(|tap| fixed_point(f64::from(tap), TAP_FRACTION))))
}

/// The direction of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Analysis,
    Synthesis,
}

/// The four steps of a level, in order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Steps<T> {
    /// (near, far), signed.
    pub(super) taps: Taps<T>,
    /// The parity of the samples that the first step changes; the parities alternate.
    pub(super) first: usize,
}

impl<T: Sample> Steps<T> {
    pub(super) fn new(taps: &Taps<T>, direction: Direction) -> Self {
        match direction {
            Direction::Analysis => Self { taps: *taps, first: 1 },
            Direction::Synthesis => {
                Self { taps: std::array::from_fn(|i| taps[LIFTING_STEPS - 1 - i].map(T::inverse)), first: 0 }
            }
        }
    }
}

/// Returns the index of `position` in a line of `n` >= 2 samples that is mirrored about its first and its last sample.
#[inline]
pub(super) fn mirror(position: isize, n: usize) -> usize {
    let last = n - 1;
    let distance = position.unsigned_abs();
    let period = 2 * last;
    // Without a division, unless `position` is farther beyond the line than the line is long.
    if distance <= last {
        distance
    } else if distance <= period {
        period - distance
    } else {
        let at = distance % period;
        at.min(period - at)
    }
}

#[cfg(test)]
mod tests {
    use super::mirror;

    #[test]
    fn what_is_beyond_a_line_goes_back_and_forth_over_it() {
        for n in 2..9_usize {
            let period = 2 * (n - 1);
            for position in -40..40_isize {
                let at = position.rem_euclid(period.cast_signed()).cast_unsigned();
                assert_eq!(mirror(position, n), at.min(period - at), "{position} of {n}");
            }
        }
    }
}
