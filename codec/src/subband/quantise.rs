//! The border between floats and integers (spec, "Quantiser"): past this file all is integer.
//!
//! Prior art: a uniform quantiser with a dead zone of two steps around zero, whose bit planes are quantisers of twice,
//! four times, ... the step (Taubman and Marcellin, "JPEG2000: image compression fundamentals", 2002, section 3.2.7).
//! The point in a bin at which a value is reconstructed is trained for every subband and plane.

/// In a Level of 16 bits: set if the coefficient is negative. The others are its magnitude in steps.
pub(crate) const NEGATIVE: u16 = 1 << 15;
/// Bit planes of the largest magnitude.
pub(crate) const MAX_PLANES: u8 = 15;
/// Largest magnitude, in steps.
const MAX_MAGNITUDE: u16 = NEGATIVE - 1;

/// A subband's quantiser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantiser {
    inverse: f32,
}

impl Quantiser {
    /// With this finest step.
    pub(crate) fn new(step: f32) -> Self {
        Self { inverse: 1.0 / step }
    }

    /// The Levels of a row of coefficients.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion saturates, and makes NaN zero"
    )]
    pub(crate) fn levels(self, values: &[f32], levels: &mut [u16]) {
        for (level, &value) in levels.iter_mut().zip(values) {
            let magnitude = ((value.abs() * self.inverse) as u16).min(MAX_MAGNITUDE);
            *level = magnitude | if value < 0.0 && magnitude > 0 { NEGATIVE } else { 0 };
        }
    }
}
