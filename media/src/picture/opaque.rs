//! Converts decoded pixels to a picture, with all that the file has, or of 8 bits a sample and opaque.

use image::DynamicImage;
use nestcast_codec::{Channels, Format, Picture, Size};

use super::{Error, Note};

/// What of a file's samples a picture keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// 8 bits a sample, opaque: what a viewer without transparency shows.
    Shown,
    /// 8 or 16 bits a sample, and opacity, as the file has them.
    All,
}

/// Converts to the wanted samples, grey or RGB. Notes say what is lost.
pub(super) fn picture(image: DynamicImage, samples: Samples, notes: &mut Vec<Note>) -> Result<Picture, Error> {
    match samples {
        Samples::Shown => shown(image, notes),
        Samples::All => Ok(whole(image)?),
    }
}

/// Converts with all that an image has: 8 or 16 bits a sample, and opacity. Samples of 32 bits become 16.
pub(crate) fn whole(image: DynamicImage) -> Result<Picture, nestcast_codec::Error> {
    use DynamicImage as Image;
    let size = Size::new(image.width(), image.height())?;
    let wide = |samples: &[u16]| samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let (format, samples) = match image {
        Image::ImageLuma8(image) => (Format::Grey, image.into_raw()),
        Image::ImageLumaA8(image) => (Format::GreyAlpha, image.into_raw()),
        Image::ImageRgba8(image) => (Format::Rgba, image.into_raw()),
        Image::ImageLuma16(image) => (Format::Grey16, wide(&image)),
        Image::ImageLumaA16(image) => (Format::GreyAlpha16, wide(&image)),
        Image::ImageRgb16(image) => (Format::Rgb16, wide(&image)),
        Image::ImageRgba16(image) => (Format::Rgba16, wide(&image)),
        Image::ImageRgb32F(_) => (Format::Rgb16, wide(&image.into_rgb16())),
        Image::ImageRgba32F(_) => (Format::Rgba16, wide(&image.into_rgba16())),
        other => (Format::Rgb, other.into_rgb8().into_raw()),
    };
    Picture::new(size, format, samples)
}

/// Converts to 8 bits, grey or RGB, opaque.
fn shown(image: DynamicImage, notes: &mut Vec<Note>) -> Result<Picture, Error> {
    use DynamicImage as Image;
    let image = match image {
        Image::ImageLuma16(_) | Image::ImageLumaA16(_) | Image::ImageRgb16(_) | Image::ImageRgba16(_) => {
            notes.push(Note::Depth);
            if image.color().has_color() {
                Image::ImageRgba8(image.into_rgba8())
            } else {
                Image::ImageLumaA8(image.into_luma_alpha8())
            }
        }
        other => other,
    };
    let width = image.width();
    let height = image.height();
    let (channels, samples) = match image {
        Image::ImageLuma8(image) => (Channels::Grey, image.into_raw()),
        Image::ImageLumaA8(image) => (Channels::Grey, over_white::<1, 2>(&image.into_raw(), notes)),
        Image::ImageRgba8(image) => (Channels::Rgb, over_white::<3, 4>(&image.into_raw(), notes)),
        other => (Channels::Rgb, other.into_rgb8().into_raw()),
    };
    Ok(Picture::new(Size::new(width, height)?, channels, samples)?)
}

/// Blends the first `COLOURS` samples of each pixel with white; the last of its `ALL` samples is its opacity.
fn over_white<const COLOURS: usize, const ALL: usize>(samples: &[u8], notes: &mut Vec<Note>) -> Vec<u8> {
    const WHITE_SAMPLE: u32 = 255;
    let (pixels, _) = samples.as_chunks::<ALL>();
    if pixels.iter().any(|pixel| u32::from(pixel[COLOURS]) < WHITE_SAMPLE) {
        notes.push(Note::Transparency);
    }
    let mut opaque = Vec::with_capacity(pixels.len() * COLOURS);
    for pixel in pixels {
        let alpha = u32::from(pixel[COLOURS]);
        for &sample in &pixel[..COLOURS] {
            let sum = u32::from(sample) * alpha + WHITE_SAMPLE * (WHITE_SAMPLE - alpha);
            opaque.push(u8::try_from((sum + WHITE_SAMPLE / 2) / WHITE_SAMPLE).expect("a mean of bytes is one"));
        }
    }
    opaque
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transparency_shows_white() {
        let mut notes = Vec::new();
        assert_eq!(over_white::<1, 2>(&[7, 255, 9, 255], &mut notes), [7, 9]);
        assert!(notes.is_empty());
        assert_eq!(over_white::<3, 4>(&[0, 0, 255, 0, 0, 100, 255, 51], &mut notes), [255, 255, 255, 204, 224, 255]);
        assert_eq!(notes.len(), 1);
    }
}
