//! The border between floats and integers (spec, "Quantiser"): after this file all values are integers.
//!
//! Prior art: a uniform quantiser with a dead zone of two steps around zero; its bit planes are quantisers of twice,
//! four times, ... the step (Taubman and Marcellin, "JPEG2000: image compression fundamentals", 2002, section 3.2.7).
//! The reconstruction point of a bin is trained for every subband and plane.
//!
//! Pictures are reconstructed in floats; references of video frames are reconstructed in integers ([`Dequantiser`]).

use crate::simd::widest;

/// The bit of a 16-bit Level that is set if the coefficient is negative. The other bits are its magnitude in steps.
pub(crate) const SIGN_BIT: u16 = 1 << 15;
/// Bit planes of the largest magnitude.
pub(crate) const MAX_PLANES: u8 = 15;
/// The most bit planes below the finest step, in streams of more than 8 bits a sample.
pub(crate) const MAX_FINE_PLANES: u8 = 6;
/// Largest magnitude, in steps.
pub(crate) const MAX_MAGNITUDE: u16 = SIGN_BIT - 1;

/// Fraction bits of an integer coefficient, and of a sample that is made from such coefficients.
pub(crate) const COEFFICIENT_FRACTION: u32 = 4;
/// Fraction bits of a coefficient that is recalled.
pub(crate) const RECALL_FRACTION: u32 = 6;
/// Fraction bits of an integer step and of an integer reconstruction point.
const STEP_FRACTION: u32 = 12;
const RECONSTRUCTED_PLANES: usize = MAX_PLANES as usize;

/// A subband's quantiser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantiser {
    inverse: f32,
}

impl Quantiser {
    /// Returns the quantiser with this finest step.
    pub(crate) fn new(step: f32) -> Self {
        Self { inverse: 1.0 / step }
    }

    /// Quantises a row of coefficients to Levels. NaN becomes zero.
    pub(crate) fn levels(self, values: &[f32], levels: &mut [u16]) {
        widest!(set_levels(values, self.inverse, levels));
    }
}

/// Each step has a vector instruction: below 2^23, the sum with 2^23 is 2^23 plus the nearest integer.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most MAX_MAGNITUDE")]
fn set_levels(values: &[f32], inverse: f32, levels: &mut [u16]) {
    const ROUNDING_OFFSET: f32 = 8_388_608.0;
    const MAX_MAGNITUDE_F32: f32 = MAX_MAGNITUDE as f32;
    for (level, &value) in levels.iter_mut().zip(values) {
        let exact = value.abs() * inverse;
        let exact = if exact > 0.0 { exact } else { 0.0 };
        let exact = if exact < MAX_MAGNITUDE_F32 { exact } else { MAX_MAGNITUDE_F32 };
        let nearest = exact + ROUNDING_OFFSET;
        let magnitude =
            (nearest.to_bits() - ROUNDING_OFFSET.to_bits() - u32::from(nearest - ROUNDING_OFFSET > exact)) as u16;
        *level = magnitude | if value < 0.0 && magnitude > 0 { SIGN_BIT } else { 0 };
    }
}

/// A subband's reconstruction in integers modulo 2^32 (spec, "Frames: residual bitstream").
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dequantiser {
    step: i32,
    /// The offset to add to a magnitude that is known to plane 0, 1, ...
    points: [i32; RECONSTRUCTED_PLANES],
}

impl Dequantiser {
    /// Makes it from a finest step and the reconstruction points inside a bin, by plane.
    pub(crate) fn new(step: f32, offsets: &[f32; RECONSTRUCTED_PLANES]) -> Self {
        let step = f64::from(step);
        let point = |plane: usize| f64::from(offsets[plane]) * step * f64::from(1_u32 << plane);
        let points = std::array::from_fn(|plane| fixed_point(point(plane), STEP_FRACTION));
        Self { step: fixed_point(step, STEP_FRACTION), points }
    }

    /// Returns the greatest absolute value that is recalled of a coefficient which is less than 2^`plane` steps, with
    /// [`RECALL_FRACTION`] fraction bits: 75/256 of that (spec, "Recall").
    pub(crate) fn limit(&self, plane: usize) -> i16 {
        const SHARE: i64 = 75;
        let limit = ((SHARE * i64::from(self.step)) << plane) >> (8 + STEP_FRACTION - RECALL_FRACTION);
        i16::try_from(limit.clamp(0, i16::MAX.into())).unwrap_or(i16::MAX)
    }

    /// Returns the absolute value of a coefficient whose magnitude is known to `plane`, 0..=14, with
    /// [`COEFFICIENT_FRACTION`] fraction bits.
    #[inline]
    pub(crate) fn value(&self, magnitude: u16, plane: usize) -> i32 {
        const DROPPED_BITS: u32 = STEP_FRACTION - COEFFICIENT_FRACTION;
        const HALF_UNIT: i32 = 1 << (DROPPED_BITS - 1);
        let steps = i32::from(magnitude).wrapping_mul(self.step);
        steps.wrapping_add(self.points[plane]).wrapping_add(HALF_UNIT) >> DROPPED_BITS
    }
}

/// Returns the integer nearest to `value` * 2^`fraction`, half up, modulo 2^32. It is exact for a product below 2^53 of
/// two single-precision floats and powers of two: such a product has 48 bits.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
pub(crate) fn fixed_point(value: f64, fraction: u32) -> i32 {
    (value * f64::from(1_u32 << fraction) + 0.5).floor() as i64 as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_nearest_half_up_and_modulo_two_to_the_32() {
        assert_eq!([0.5, -0.5, 0.499, -0.501, 1.5].map(|value| fixed_point(value, 0)), [1, 0, 0, -1, 2]);
        assert_eq!(fixed_point(-1.586_134_3, 12), -6497);
        assert_eq!(fixed_point(4_294_967_299.0, 0), 3);
        assert_eq!(fixed_point(1_048_576.0, 12), 0);
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "a conversion saturates")]
    fn levels_are_whole_steps_towards_zero() {
        let magnitudes =
            [0.0, 0.1, 0.999_999_94, 1.0, 1.5, 2.999, 700.25, 32_766.998, 32_767.0, 40_000.0, 1e30, f32::INFINITY];
        for (step, sign) in [(1.0, 1.0), (1.0, -1.0), (0.37, 1.0), (0.37, -1.0)] {
            let values = magnitudes.map(|magnitude| sign * magnitude * step);
            let mut levels = [1; 12];
            Quantiser::new(step).levels(&values, &mut levels);
            for (value, level) in values.into_iter().zip(levels) {
                let magnitude = ((value.abs() * (1.0 / step)) as u16).min(MAX_MAGNITUDE);
                assert_eq!(level, magnitude | if value < 0.0 && magnitude > 0 { SIGN_BIT } else { 0 }, "{value}");
            }
        }
        let mut levels = [1; 1];
        Quantiser::new(1.0).levels(&[f32::NAN], &mut levels);
        assert_eq!(levels, [0]);
    }

    #[test]
    fn values_are_nearest_in_sixteenths() {
        let mut offsets = [0.0; RECONSTRUCTED_PLANES];
        offsets[2] = 0.375;
        let dequantiser = Dequantiser::new(0.3, &offsets);
        // 0.3 is 1229 / 4096. 9 steps, known to plane 0: 43.2 sixteenths; 12 and 1.5 more, to plane 2: 64.8.
        assert_eq!((dequantiser.value(9, 0), dequantiser.value(12, 2)), (43, 65));
        // 32767 steps of 9999.5 are above 2^32 in 1/4096: (32767 * 40957952) modulo 2^32, signed, then / 256 rounded.
        assert_eq!(Dequantiser::new(9999.5, &offsets).value(u16::MAX >> 1, 0), 7_966_472);
    }
}
