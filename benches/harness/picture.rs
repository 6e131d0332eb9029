//! An 8-bit RGB picture in memory: what rivals take and give, and what metrics compare.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Channels of a pixel: red, green, blue.
pub const CHANNELS: usize = 3;

/// An RGB picture; bytes in the order row, column, channel, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Picture {
    /// Wraps `rgb`, which must hold `width * height * 3` bytes and at least one pixel.
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Self> {
        let expected = width as usize * height as usize * CHANNELS;
        ensure!(expected > 0, "an empty picture: {width}x{height}");
        ensure!(rgb.len() == expected, "{width}x{height} RGB needs {expected} bytes, got {}", rgb.len());
        Ok(Self { width, height, rgb })
    }

    /// Reads a PNG or JPEG file as 8-bit RGB, whatever its name says it is.
    pub fn open(path: &Path) -> Result<Self> {
        let name = || format!("picture {}", path.display());
        let reader = image::ImageReader::open(path).with_context(name)?.with_guessed_format().with_context(name)?;
        let decoded = reader.decode().with_context(name)?.into_rgb8();
        Self::new(decoded.width(), decoded.height(), decoded.into_raw()).with_context(name)
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The samples: row, column, channel.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Bits per pixel when the picture is coded in `bytes` bytes.
    pub fn bpp(&self, bytes: usize) -> f64 {
        8.0 * bytes as f64 / self.pixels() as f64
    }

    /// Whole bytes in a budget of `bpp` bits per pixel, never more than the budget.
    #[expect(clippy::cast_possible_truncation, reason = "a byte budget is far below 2^53")]
    pub fn budget(&self, bpp: f64) -> usize {
        (bpp * self.pixels() as f64 / 8.0).max(0.0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_must_match_the_bytes() {
        assert!(Picture::new(2, 2, vec![0; 12]).is_ok());
        assert!(Picture::new(2, 2, vec![0; 11]).is_err());
        assert!(Picture::new(0, 2, Vec::new()).is_err());
    }

    #[test]
    fn budget_is_the_inverse_of_bpp_rounded_down() {
        let picture = Picture::new(768, 512, vec![0; 768 * 512 * 3]).expect("the shape fits");
        assert_eq!(picture.budget(0.1), 4915);
        assert!(picture.bpp(4915) <= 0.1);
        assert_eq!(picture.budget(1.0), 49_152);
        assert!((picture.bpp(49_152) - 1.0).abs() < 1e-12);
    }
}
