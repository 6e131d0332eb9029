//! RGB pictures: read from files, and converted for the rivals' libraries.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Channels, Picture, Size};

/// Channels of a pixel: red, green, blue.
pub(crate) const RGB_CHANNELS: usize = Channels::Rgb.count();

/// Reads a PNG or JPEG file as 8-bit RGB, whatever its name.
pub fn open(path: &Path) -> Result<Picture> {
    let name = || format!("picture {}", path.display());
    let reader = image::ImageReader::open(path).with_context(name)?.with_guessed_format().with_context(name)?;
    let decoded = reader.decode().with_context(name)?.into_rgb8();
    from_rgb(decoded.width(), decoded.height(), decoded.into_raw()).with_context(name)
}

/// Wraps the samples of an RGB picture: row, column, channel, without padding.
pub(crate) fn from_rgb(width: u32, height: u32, samples: Vec<u8>) -> Result<Picture> {
    Ok(Picture::new(Size::new(width, height)?, Channels::Rgb, samples)?)
}

/// Repeats a picture in mirrored tiles to fill another size.
pub fn tiled(picture: &Picture, (width, height): (u32, u32)) -> Result<Picture> {
    let (pixels, _) = picture.samples().as_chunks::<RGB_CHANNELS>();
    let (w, h) = (picture.size().width(), picture.size().height());
    ensure!(pixels.len() == w * h, "only RGB pictures are tiled");
    let mirrored =
        |at: usize, side: usize| if (at / side).is_multiple_of(2) { at % side } else { side - 1 - at % side };
    let row = |y: usize| {
        let row = &pixels[mirrored(y, h) * w..][..w];
        (0..width as usize).flat_map(move |x| row[mirrored(x, w)])
    };
    from_rgb(width, height, (0..height as usize).flat_map(row).collect())
}

/// Scales a picture, or cuts a part of it: for contact sheets only, never measured.
pub fn shown(picture: &Picture, part: Part, (width, height): (u32, u32)) -> Result<Picture> {
    let Rgb { width: w, height: h, samples } = picture.try_into()?;
    let image = image::RgbImage::from_raw(w, h, samples.to_vec()).context("not as many samples as pixels")?;
    let filter = image::imageops::FilterType::CatmullRom;
    let shown = match part {
        Part::Whole => image::imageops::resize(&image, width, height, filter),
        Part::Middle => {
            let (x, y) = (w.saturating_sub(width) / 2, h.saturating_sub(height) / 2);
            image::imageops::crop_imm(&image, x, y, width, height).to_image()
        }
    };
    from_rgb(shown.width(), shown.height(), shown.into_raw())
}

/// The visible part of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, scaled.
    Whole,
    /// Its middle, pixel by pixel.
    Middle,
}

/// An RGB picture in a library's layout.
pub(crate) struct Rgb<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Row, column, channel, without padding.
    pub(crate) samples: &'a [u8],
}

impl<'a> TryFrom<&'a Picture> for Rgb<'a> {
    type Error = anyhow::Error;

    /// A grey picture is an error: the rivals' settings are for RGB.
    fn try_from(picture: &'a Picture) -> Result<Self> {
        ensure!(picture.channels() == Channels::Rgb, "rivals take RGB pictures only");
        let [width, height] = [picture.size().width(), picture.size().height()].map(u32::try_from);
        Ok(Self { width: width?, height: height?, samples: picture.samples() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_mirrored() {
        let picture = from_rgb(2, 1, vec![1, 1, 1, 2, 2, 2]).expect("the shape fits");
        let tiled = tiled(&picture, (5, 2)).expect("RGB");
        let first: Vec<u8> = tiled.samples().chunks_exact(3).map(|pixel| pixel[0]).collect();
        assert_eq!(first, [1, 2, 2, 1, 1, 1, 2, 2, 1, 1]);
    }

    #[test]
    fn parts_have_the_size_asked_for() {
        let picture = from_rgb(4, 2, (0..24).collect()).expect("the shape fits");
        let middle = shown(&picture, Part::Middle, (2, 2)).expect("RGB");
        assert_eq!(middle.samples()[..6], [3, 4, 5, 6, 7, 8]);
        let whole = shown(&picture, Part::Whole, (2, 1)).expect("RGB");
        assert_eq!((whole.size().width(), whole.size().height()), (2, 1));
    }

    #[test]
    fn rgb_comes_back_and_grey_is_refused() {
        let picture = from_rgb(2, 1, vec![1, 2, 3, 4, 5, 6]).expect("the shape fits");
        let rgb = Rgb::try_from(&picture).expect("RGB");
        assert_eq!((rgb.width, rgb.height, rgb.samples), (2, 1, &[1, 2, 3, 4, 5, 6][..]));
        assert!(from_rgb(2, 2, vec![0; 11]).is_err());

        let grey = Picture::new(picture.size(), Channels::Grey, vec![7, 8]).expect("the shape fits");
        assert!(Rgb::try_from(&grey).is_err());
    }
}
