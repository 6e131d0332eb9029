//! The gains of regions: powers of two that scale the coefficients of a region (spec, "Regions" and "Quantiser").
//!
//! Prior art: adaptive quantisation by macroblock, as in H.264 (Recommendation ITU-T H.264, 2003, `mb_qp_delta`). Here the
//! gains also decide the order: a coefficient with a higher gain has its bit planes earlier.

use std::f32::consts::SQRT_2;

use crate::simd::widest;
use crate::subband::layout::{SUBBAND_COUNT, Subband};
use crate::subband::regions::REGION_SIDE;

/// Steps of a gain in an octave.
pub(crate) const STEPS_AN_OCTAVE: i8 = 4;
/// Gains are in `-MAX_GAIN..=MAX_GAIN`: two octaves each way.
pub(crate) const MAX_GAIN: i8 = 8;
/// The coarsest level whose detail subbands are scaled.
const COARSEST_LEVEL: usize = 4;

/// Returns whether the subband's coefficients are scaled; those of the low bands, which have the last level, are not.
pub(crate) const fn scales(subband: Subband) -> bool {
    subband.level <= COARSEST_LEVEL
}

/// Returns the regions across and down a slice of `width` x `rows` pixels, whatever its components.
pub(crate) const fn count(width: usize, rows: usize) -> (usize, usize) {
    (width.div_ceil(REGION_SIDE), rows.div_ceil(REGION_SIDE))
}

/// Returns 2 to the power of `gain` / 4, the factor that an encoder multiplies coefficients by. A decoder multiplies by
/// the factor of `-gain`.
pub(crate) fn factor(gain: i8) -> f32 {
    const OCTAVE_FRACTIONS: [f32; STEPS_AN_OCTAVE as usize] = [1.0, 1.189_207_1, SQRT_2, 1.681_792_9];
    let fraction = OCTAVE_FRACTIONS[usize::from(gain.rem_euclid(STEPS_AN_OCTAVE).unsigned_abs())];
    fraction * 2_f32.powi(i32::from(gain.div_euclid(STEPS_AN_OCTAVE)))
}

/// Scales row `y` of a subband by each region's gain, as an encoder does. A row has `across` regions.
pub(crate) fn apply(gains: &[i8], across: usize, subband: Subband, y: usize, row: &mut [f32]) {
    let side = REGION_SIDE >> subband.level;
    for (part, &gain) in row.chunks_mut(side).zip(&gains[y / side * across..]) {
        if gain != 0 {
            widest!(scale(part, factor(gain)));
        }
    }
}

/// Undoes the gains in a slice's rows of all subbands; `width` is the width of a subband by its index. `gains` are those of
/// the regions, row by row, as far as they are known.
pub(crate) fn undo(
    gains: &[Option<i8>],
    across: usize,
    width: impl Fn(usize) -> usize,
    subbands: &mut [&mut [f32]; SUBBAND_COUNT],
) {
    let factors: [f32; 2 * MAX_GAIN as usize + 1] = {
        let mut gain = MAX_GAIN + 1;
        std::array::from_fn(|_| {
            gain -= 1;
            factor(gain)
        })
    };
    for (index, rows) in subbands.iter_mut().enumerate().skip(3) {
        let subband = Subband::at(index);
        if !scales(subband) {
            continue;
        }
        let side = REGION_SIDE >> subband.level;
        for (y, row) in rows.chunks_mut(width(index).max(1)).enumerate() {
            for (part, gain) in row.chunks_mut(side).zip(&gains[y / side * across..]) {
                let Some(gain) = gain.filter(|gain| *gain != 0) else { continue };
                widest!(scale_written(part, factors[usize::from((gain + MAX_GAIN).unsigned_abs())]));
            }
        }
    }
}

#[inline(always)]
fn scale(values: &mut [f32], factor: f32) {
    values.iter_mut().for_each(|value| *value *= factor);
}

/// As [`scale`]. Memory that was never written to stays untouched.
#[inline(always)]
fn scale_written(values: &mut [f32], factor: f32) {
    if values.iter().fold(0, |any, value| any | value.to_bits() << 1) != 0 {
        scale(values, factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_quarters_of_octaves() {
        for gain in -MAX_GAIN..=MAX_GAIN {
            assert!((f64::from(factor(gain)).log2() * 4.0 - f64::from(gain)).abs() < 1e-6, "{gain}");
            assert!((factor(gain) * factor(-gain) - 1.0).abs() < 2e-7, "{gain}");
        }
        assert_eq!((factor(8), factor(-4), factor(0)), (4.0, 0.5, 1.0));
    }
}
