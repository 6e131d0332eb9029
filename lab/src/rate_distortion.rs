//! Lines of rate-distortion tables.

use serde::{Deserialize, Serialize};

/// One picture by one decoder at one rate: a line in the tables of `nestcast eval` and of the rivals.
///
/// For each decoder and image, lines follow the order of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// File name of the picture.
    pub image: String,
    /// Which decoder (linear, deep) or rival.
    pub decoder: String,
    /// All bytes that were decoded.
    pub bytes: usize,
    /// The same in bits per pixel.
    pub bpp: f64,
    /// RGB PSNR in dB.
    pub psnr_db: f64,
    /// MS-SSIM, where it was measured.
    pub ms_ssim: Option<f64>,
    /// Time to encode in milliseconds, where it was measured.
    pub encode_ms: Option<f64>,
    /// Time to decode in milliseconds, where it was measured.
    pub decode_ms: Option<f64>,
    /// SSIMULACRA2, where it was measured. A table may lack the column.
    #[serde(default)]
    pub ssimulacra2: Option<f64>,
    /// Butteraugli's 3-norm, where it was measured. A table may lack the column.
    #[serde(default)]
    pub butteraugli: Option<f64>,
}

/// Rounds a figure to `digits` digits after the point, as in tables.
#[must_use]
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    if value.is_finite() { (value * scale).round() / scale } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_so_many_digits() {
        assert_eq!([rounded(0.123_456, 3), rounded(2.5, 0), rounded(-1.005e3, -1)], [0.123, 3.0, -1010.0]);
        assert_eq!(rounded(f64::INFINITY, 2), f64::INFINITY);
    }
}
