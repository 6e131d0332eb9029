//! JPEG as a rival: encoded at a given quality, or at the highest that fits into a number of bytes.

use anyhow::{Context, Result};
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, SamplingFactor};
use nestcast_codec::{Channels, Picture};
use nestcast_media::to_rgb;

/// How the rival is encoded; the demo's page shows it.
pub const ENCODE_DESCRIPTION: &str = "baseline JPEG with the standard's quantiser tables, optimised Huffman tables and \
     no metadata, by the Rust crate jpeg-encoder: the better of 4:2:0 (averaged chroma) and 4:4:4,";
/// The best quality.
pub const BEST_QUALITY: u8 = 100;

/// The entropy coder's tables. They change the bytes, not the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Made for the picture: the smallest file. Its scans are not interleaved, so `picture::decode` refuses it.
    Optimised,
    /// The standard's tables.
    Fixed,
}

/// How many chroma samples are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// 4:2:0, a quarter of them.
    Quarter,
    /// 4:4:4, all of them.
    Full,
}

impl Sampling {
    /// Returns the sampling's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quarter => "4:2:0",
            Self::Full => "4:4:4",
        }
    }
}

/// Encodes at a quality of 1 to [`BEST_QUALITY`].
///
/// # Errors
/// Those of the encoder: none for a picture and a quality in range.
pub fn encode(picture: &Picture, quality: u8, sampling: Sampling, tables: Tables) -> Result<Vec<u8>> {
    let picture = to_rgb(picture);
    let width = picture.size().width();
    let height = picture.size().height();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(match sampling {
        Sampling::Quarter => SamplingFactor::F_2_2,
        Sampling::Full => SamplingFactor::F_1_1,
    });
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_optimized_huffman_tables(tables == Tables::Optimised);
    let kind = match picture.channels() {
        Channels::Grey => ColorType::Luma,
        Channels::Rgb => ColorType::Rgb,
    };
    encoder
        .encode(picture.samples(), u16::try_from(width)?, u16::try_from(height)?, kind)
        .context("JPEG cannot be encoded")?;
    Ok(bytes)
}

/// Decodes a file with [`Tables::Fixed`].
///
/// # Errors
/// If it is no such file.
pub fn decode(file: &[u8]) -> Result<Picture> {
    Ok(nestcast_media::picture::decode(file, u64::MAX)?.picture)
}

/// Returns the highest quality whose size is at most `bytes`; `None` if even the lowest needs more.
///
/// Sizes rise with the quality, except for a few bytes; there the result may be one too low.
///
/// # Errors
/// Those of `size`.
pub fn highest(bytes: usize, mut size: impl FnMut(u8) -> Result<usize>) -> Result<Option<u8>> {
    let mut fits = 0;
    let mut exceeds = BEST_QUALITY + 1;
    while exceeds - fits > 1 {
        let quality = u8::midpoint(fits, exceeds);
        if size(quality)? <= bytes { fits = quality } else { exceeds = quality }
    }
    Ok((fits > 0).then_some(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_quality_that_fits_is_found() -> Result<()> {
        let size = |quality: u8| Ok(usize::from(quality) * 10);
        assert_eq!(highest(9, size)?, None);
        assert_eq!(highest(555, size)?, Some(55));
        assert_eq!(highest(usize::MAX, size)?, Some(BEST_QUALITY));
        Ok(())
    }
}
