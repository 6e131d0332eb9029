//! RGB pictures: read from files, and as the rivals' libraries give and take them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Channels, Picture, Size};

/// Channels of a pixel: red, green, blue.
pub(crate) const CHANNELS: usize = Channels::Rgb.count();

/// Reads a PNG or JPEG file as 8-bit RGB, whatever its name says it is.
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

/// An RGB picture as a library takes it.
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
    fn rgb_comes_back_and_grey_is_refused() {
        let picture = from_rgb(2, 1, vec![1, 2, 3, 4, 5, 6]).expect("the shape fits");
        let rgb = Rgb::try_from(&picture).expect("RGB");
        assert_eq!((rgb.width, rgb.height, rgb.samples), (2, 1, &[1, 2, 3, 4, 5, 6][..]));
        assert!(from_rgb(2, 2, vec![0; 11]).is_err());

        let grey = Picture::new(picture.size(), Channels::Grey, vec![7, 8]).expect("the shape fits");
        assert!(Rgb::try_from(&grey).is_err());
    }
}
