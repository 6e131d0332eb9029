//! Lossy WebP by libwebp, single-threaded, with the library's defaults for everything except method and quality.

use anyhow::{Context, Result, anyhow};
use nestcast_codec::Picture;

use super::Rival;
use crate::picture::{Rgb, from_rgb};

/// The measured qualities: those of the stored Kodak anchors.
const MEASURED_QUALITIES: [f32; 12] = [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0];

/// Lossy WebP; the parameter is the quality, 0 to 100.
#[derive(Clone, Copy, Debug)]
pub struct Lossy {
    /// Effort, 0 (fast) to 6 (slow); libwebp's default is 4.
    pub method: i32,
}

impl Rival for Lossy {
    fn name(&self) -> &'static str {
        ["webp-m0", "webp-m1", "webp-m2", "webp-m3", "webp-m4", "webp-m5", "webp-m6"]
            .into_iter()
            .zip(0..)
            .find_map(|(name, method)| (method == self.method).then_some(name))
            .unwrap_or("webp")
    }

    fn grid(&self) -> &'static [f32] {
        &MEASURED_QUALITIES
    }

    fn range(&self) -> (f32, f32) {
        (0.0, 100.0)
    }

    fn encode(&self, picture: &Picture, parameter: f32) -> Result<Vec<u8>> {
        let mut config = webp::WebPConfig::new().map_err(|()| anyhow!("libwebp of another version"))?;
        config.method = self.method;
        config.quality = parameter;
        let Rgb { width, height, samples } = picture.try_into()?;
        webp::Encoder::from_rgb(samples, width, height)
            .encode_advanced(&config)
            .map(|memory| memory.to_vec())
            .map_err(|error| anyhow!("libwebp: {error:?}"))
    }

    fn decode(&self, bytes: &[u8]) -> Result<Picture> {
        let decoded = webp::Decoder::new(bytes).decode().context("libwebp did not decode")?;
        from_rgb(decoded.width(), decoded.height(), decoded.to_vec())
    }
}
