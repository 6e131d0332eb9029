//! The common format of a source's pictures.

use std::time::Duration;

use nestcast_codec::{Display, Format, FrameRate, ModelId, Picture, Size, Ycbcr};
use nestcast_proto::{PackageHash, Video, Welcome};

use crate::error::PictureError;

/// The format of a source's pictures. It stays the same, and the encoder checks each picture against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureFormat {
    /// The size of every picture.
    pub size: Size,
    /// The layout of samples in memory.
    pub samples: Samples,
    /// The rate of pictures.
    pub rate: PictureRate,
    /// How to show the pictures; receivers of video learn this.
    pub display: Display,
}

/// The layout of a source's samples in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// One format for all pictures; YCbCr 4:2:0 in one range.
    Fixed(Format),
    /// RGB or grey, chosen by each picture, such as the files of a folder. For an encoder of independent pictures.
    RgbOrGrey,
}

/// The rate of a source's pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureRate {
    /// At this rate: the reader of the source waits until a picture is due.
    Constant(FrameRate),
    /// At most at this rate, whenever the source has a picture: the source waits itself, like a camera that is slower
    /// in the dark.
    Variable {
        /// The most pictures a second; receivers learn this rate.
        most: FrameRate,
    },
}

impl From<Format> for Samples {
    fn from(format: Format) -> Self {
        Self::Fixed(format)
    }
}

impl From<FrameRate> for PictureRate {
    fn from(rate: FrameRate) -> Self {
        Self::Constant(rate)
    }
}

impl PictureRate {
    /// Returns the rate, or the highest rate.
    #[must_use]
    pub const fn most(self) -> FrameRate {
        match self {
            Self::Constant(rate) | Self::Variable { most: rate } => rate,
        }
    }

    /// Returns how long to wait from one picture to the next; `None` if the source waits.
    pub(crate) fn interval(self) -> Option<Duration> {
        match self {
            Self::Constant(rate) => Some(rate.interval()),
            Self::Variable { .. } => None,
        }
    }
}

impl PictureFormat {
    /// Describes pictures of this size, format and rate, progressive and with square pixels.
    pub fn new(size: Size, samples: impl Into<Samples>, rate: impl Into<PictureRate>) -> Self {
        Self { size, samples: samples.into(), rate: rate.into(), display: Display::default() }
    }

    /// Returns the format of this picture, at a rate.
    pub fn of(picture: &Picture, rate: impl Into<PictureRate>) -> Self {
        Self::new(picture.size(), picture.format(), rate)
    }

    /// Returns the same format with another display.
    #[must_use]
    pub const fn with_display(self, display: Display) -> Self {
        Self { display, ..self }
    }

    /// Checks that a picture has this size and format, and the range of values.
    ///
    /// # Errors
    /// [`PictureError::Size`] or [`PictureError::Format`].
    pub fn check(&self, picture: &Picture) -> Result<(), PictureError> {
        let announced = self.size;
        let given = picture.size();
        if given != announced {
            return Err(PictureError::Size { given, announced });
        }
        let given = picture.format();
        match self.samples {
            Samples::Fixed(announced) if given != announced => Err(PictureError::Format { given, announced }),
            Samples::RgbOrGrey if !matches!(given, Format::Rgb | Format::Grey) => {
                Err(PictureError::Format { given, announced: Format::Rgb })
            }
            Samples::Fixed(_) | Samples::RgbOrGrey => Ok(()),
        }
    }

    /// Returns what samples of planar pictures mean, and their bits, 8..=16; `None` if they are not planar.
    #[must_use]
    pub const fn ycbcr420(&self) -> Option<(Ycbcr, u8)> {
        match self.samples {
            Samples::Fixed(format) => format.ycbcr420(),
            Samples::RgbOrGrey => None,
        }
    }

    /// Returns the announcement of a broadcast of these pictures.
    pub(crate) fn welcome(&self, model: ModelId, package: PackageHash, video: Option<Video>) -> Welcome {
        let side = |length: usize| u32::try_from(length).unwrap_or(nestcast_codec::MAX_SIDE);
        let width = side(self.size.width());
        let height = side(self.size.height());
        Welcome { model: model.0, package, width, height, rate: self.rate.most(), video }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, format: Format) -> Picture {
        Picture::zero(Size::new(width, 2).expect("a size"), format)
    }

    #[test]
    fn a_picture_has_the_size_the_format_and_the_range_of_its_source_or_is_refused_by_name() {
        let rate = FrameRate::new(30, 1).expect("a rate");
        let limited = Format::Ycbcr420(Ycbcr::BT601);
        let format = PictureFormat::of(&picture(4, limited), rate);
        assert!(format.check(&picture(4, limited)).is_ok());
        let refused = |picture| format.check(&picture).expect_err("it is refused").to_string();
        assert!(refused(picture(6, limited)).contains("6x2") && refused(picture(6, limited)).contains("scale"));
        let full = refused(picture(4, Format::Ycbcr420(Ycbcr::BT601_FULL)));
        assert!(
            full.contains("full range") && full.contains("limited range") && full.contains("must announce"),
            "{full}"
        );
        assert!(refused(picture(4, Format::Rgb)).contains("RGB"));
        let files = PictureFormat::new(format.size, Samples::RgbOrGrey, rate);
        assert!(files.check(&picture(4, Format::Rgb)).is_ok() && files.check(&picture(4, Format::Grey)).is_ok());
        assert!(files.check(&picture(4, limited)).is_err());
    }
}
