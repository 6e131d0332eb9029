//! Smaller pictures for contact sheets.

use anyhow::{Context, Result};
use image::imageops;
use nestcast_codec::{Channels, Picture, Size};
use nestcast_media::to_rgb;

/// Returns the picture as RGB, at most `side` pixels wide and high.
///
/// # Errors
/// None: a smaller picture is within all limits.
pub fn thumbnail(picture: &Picture, side: u32) -> Result<Picture> {
    let width = u32::try_from(picture.size().width())?;
    let height = u32::try_from(picture.size().height())?;
    let picture = to_rgb(picture);
    let samples = picture.samples();
    let rgb = match picture.channels() {
        Channels::Grey => samples.iter().flat_map(|&grey| [grey; 3]).collect(),
        Channels::Rgb => samples.to_vec(),
    };
    let image = image::RgbImage::from_raw(width, height, rgb).context("a picture has all its samples")?;
    let longest = width.max(height);
    let image = if longest <= side {
        image
    } else {
        let scaled = |length: u32| (length * side).div_ceil(longest);
        imageops::resize(&image, scaled(width), scaled(height), imageops::FilterType::Lanczos3)
    };
    let size = Size::new(image.width(), image.height())?;
    Ok(Picture::new(size, Channels::Rgb, image.into_raw())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_keep_the_shape() {
        let size = Size::new(20, 10).expect("a valid size");
        let grey = Picture::new(size, Channels::Grey, vec![7; 200]).expect("the shape fits");
        let small = thumbnail(&grey, 10).expect("scaled");
        assert_eq!((small.size().width(), small.size().height(), small.channels()), (10, 5, Channels::Rgb));
    }
}
