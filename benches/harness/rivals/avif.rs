//! AVIF by libavif with libaom, one thread, speed 6 (libavif's usual choice), full range, BT.601 matrix.

use anyhow::{Context, Result, ensure};
use libavif::{RgbPixels, YuvFormat};
use nestcast_codec::Picture;

use super::{Rival, Sampling};
use crate::picture::{Rgb, from_rgb};

/// The measured qualities, 0 to 100.
const MEASURED_QUALITIES: [f32; 12] = [5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 82.0, 88.0, 93.0, 97.0];

/// Effort, 0 (slow) to 10 (fast).
const AVIF_SPEED: u8 = 6;

/// Samples of a pixel in libavif's output: red, green, blue, alpha.
const DECODED_CHANNELS: usize = 4;

/// Lossy AVIF; the parameter is libavif's quality, 0 to 100.
#[derive(Clone, Copy, Debug)]
pub struct Avif(
    /// Its chroma sampling.
    pub Sampling,
);

impl Rival for Avif {
    fn name(&self) -> &'static str {
        match self.0 {
            Sampling::S420 => "avif-420",
            Sampling::S444 => "avif-444",
        }
    }

    fn grid(&self) -> &'static [f32] {
        &MEASURED_QUALITIES
    }

    fn range(&self) -> (f32, f32) {
        (0.0, 100.0)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        let Rgb { width, height, samples } = picture.try_into()?;
        let format = match self.0 {
            Sampling::S420 => YuvFormat::Yuv420,
            Sampling::S444 => YuvFormat::Yuv444,
        };
        let image = RgbPixels::new(width, height, samples).context("libavif took no pixels")?.to_image(format);
        let mut encoder = libavif::Encoder::new();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a quality is 0 to 100")]
        encoder.set_quality(parameter.round() as u8).set_speed(AVIF_SPEED).set_max_threads(1);
        Ok(encoder.encode(&image).context("libavif did not encode")?.to_vec())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        let decoded = libavif::decode_rgb(bytes).context("libavif did not decode")?;
        let (width, height) = (decoded.width(), decoded.height());
        let pixels = decoded.as_slice().chunks_exact(DECODED_CHANNELS);
        ensure!(pixels.len() == width as usize * height as usize, "libavif gave other pixels than it said");
        from_rgb(width, height, pixels.flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_an_error() {
        assert!(Avif(Sampling::S444).decode(b"not an AVIF file").is_err());
    }
}
