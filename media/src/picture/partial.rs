//! Decodes a file's pixels as far as they are sound.

use image::{ColorType, DynamicImage, ImageBuffer, ImageDecoder, ImageError};

use super::{Cost, Error, Note};

/// Decodes all pixels, or the rows before damage with a note. The other rows are black, or white if they may be
/// transparent.
///
/// # Errors
/// [`Error`] if there is no such row.
pub(super) fn image(decoder: impl ImageDecoder, notes: &mut Vec<Note>) -> Result<DynamicImage, Error> {
    let (width, height) = decoder.dimensions();
    let colours = decoder.color_type();
    let length = usize::try_from(decoder.total_bytes()).map_err(|_| Error::Cost(Cost::Memory))?;
    let mut bytes = vec![0; length];
    if let Err(error) = decoder.read_image(&mut bytes) {
        let damaged = matches!(error, ImageError::IoError(_) | ImageError::Decoding(_));
        if !damaged || bytes.iter().all(|&byte| byte == 0) {
            return Err(error.into());
        }
        notes.push(Note::Damaged);
        if colours.bytes_per_pixel() / colours.channel_count() == 2 {
            // The decoder swaps bytes only at its end.
            bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| *pair = u16::from_be_bytes(*pair).to_ne_bytes());
        }
    }
    pixels(colours, [width, height], bytes)
        .ok_or(Error::Unsupported("its samples are of an unusual kind: save it anew"))
}

fn pixels(colours: ColorType, [width, height]: [u32; 2], bytes: Vec<u8>) -> Option<DynamicImage> {
    use DynamicImage as Image;
    let wide = |bytes: Vec<u8>| bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_ne_bytes(*pair)).collect();
    Some(match colours {
        ColorType::L8 => Image::ImageLuma8(ImageBuffer::from_raw(width, height, bytes)?),
        ColorType::La8 => Image::ImageLumaA8(ImageBuffer::from_raw(width, height, bytes)?),
        ColorType::Rgb8 => Image::ImageRgb8(ImageBuffer::from_raw(width, height, bytes)?),
        ColorType::Rgba8 => Image::ImageRgba8(ImageBuffer::from_raw(width, height, bytes)?),
        ColorType::L16 => Image::ImageLuma16(ImageBuffer::from_raw(width, height, wide(bytes))?),
        ColorType::La16 => Image::ImageLumaA16(ImageBuffer::from_raw(width, height, wide(bytes))?),
        ColorType::Rgb16 => Image::ImageRgb16(ImageBuffer::from_raw(width, height, wide(bytes))?),
        ColorType::Rgba16 => Image::ImageRgba16(ImageBuffer::from_raw(width, height, wide(bytes))?),
        _ => return None,
    })
}
