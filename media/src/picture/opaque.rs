//! Converts decoded pixels to 8 bits, grey or RGB, opaque.

use image::DynamicImage;
use nestcast_codec::{Channels, Picture, Size};

use super::{Error, Note};

/// Converts to 8 bits, grey or RGB, opaque.
pub(super) fn picture(image: DynamicImage, notes: &mut Vec<Note>) -> Result<Picture, Error> {
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
