//! Writes pictures as PNG files.

use std::borrow::Cow;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use nestcast_codec::{Format, Picture};

use super::error::Error;
use crate::to_rgb;

/// Encodes a picture as a PNG file: grey, or RGB by [`to_rgb`], with the picture's opacity and 8 or 16 bits a sample.
///
/// # Errors
/// [`Error`] if the picture cannot be compressed.
pub fn encode_png(picture: &Picture) -> Result<Vec<u8>, Error> {
    let picture = to_rgb(picture);
    let kind = match picture.format() {
        Format::Grey => ExtendedColorType::L8,
        Format::GreyAlpha => ExtendedColorType::La8,
        Format::Rgba => ExtendedColorType::Rgba8,
        Format::Grey16 => ExtendedColorType::L16,
        Format::GreyAlpha16 => ExtendedColorType::La16,
        Format::Rgb16 => ExtendedColorType::Rgb16,
        Format::Rgba16 => ExtendedColorType::Rgba16,
        _ => ExtendedColorType::Rgb8,
    };
    // The encoder takes samples of 16 bits in the order of this machine.
    let samples: Cow<'_, [u8]> = if cfg!(target_endian = "big") && picture.format().is_deep() {
        picture.samples().as_chunks().0.iter().flat_map(|&[low, high]| [high, low]).collect()
    } else {
        picture.samples().into()
    };
    let [width, height] = [picture.size().width(), picture.size().height()]
        .map(|side| u32::try_from(side).expect("a side is at most MAX_SIDE"));
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Adaptive);
    encoder.write_image(&samples, width, height, kind)?;
    Ok(bytes)
}
