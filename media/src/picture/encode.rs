//! Writes pictures as PNG files.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use nestcast_codec::{Channels, Picture};

use super::error::Error;
use crate::to_rgb;

/// Encodes a picture as a PNG file: grey, or RGB by [`to_rgb`].
///
/// # Errors
/// [`Error`] if the picture cannot be compressed.
pub fn encode_png(picture: &Picture) -> Result<Vec<u8>, Error> {
    let picture = to_rgb(picture);
    let kind = match picture.channels() {
        Channels::Grey => ExtendedColorType::L8,
        Channels::Rgb => ExtendedColorType::Rgb8,
    };
    let [width, height] = [picture.size().width(), picture.size().height()]
        .map(|side| u32::try_from(side).expect("a side is at most MAX_SIDE"));
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Adaptive);
    encoder.write_image(picture.samples(), width, height, kind)?;
    Ok(bytes)
}
