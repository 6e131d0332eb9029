//! A sender's announcement, in the codec's types.

use nestcast_codec::{Display, ModelId, RenditionRates, Size, VideoHeader, Ycbcr};
use nestcast_proto::{FrameRate, PackageHash, Welcome};

use crate::error::PlayError;

/// A sender's announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// The tables that the frames were encoded with; for video, the tables of key frames. A receiver that decodes
    /// without networks needs no more.
    pub model: ModelId,
    /// The package with these tables and their networks.
    pub package: PackageHash,
    /// The size of every picture.
    pub size: Size,
    /// The frame rate.
    pub rate: FrameRate,
    /// Set if the frames are video.
    pub video: Option<AnnouncedVideo>,
}

/// The additional announcement of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncedVideo {
    /// The tables of predicted frames.
    pub residual: ModelId,
    /// What samples mean.
    pub colours: Ycbcr,
    /// Bits of a sample in the source, 8..=16.
    pub bits: u8,
    /// How to show the frames.
    pub display: Display,
}

impl Announcement {
    /// Reads a welcome.
    ///
    /// # Errors
    /// [`PlayError::Size`] if no picture has its size.
    pub fn of(welcome: &Welcome) -> Result<Self, PlayError> {
        let size = Size::new(welcome.width, welcome.height).map_err(PlayError::Size)?;
        let video = welcome.video.map(|video| {
            // The session has refused reserved values.
            let (colours, display) = Display::of_signal(video.signal).unwrap_or((Ycbcr::BT601, Display::default()));
            let display = Display { aspect: video.aspect, ..display };
            AnnouncedVideo { residual: ModelId(video.residual), colours, bits: video.bits, display }
        });
        Ok(Self { model: ModelId(welcome.model), package: welcome.package, size, rate: welcome.rate, video })
    }

    /// Returns the header of a stored video of this broadcast's frames; `None` if they are no video.
    #[must_use]
    pub fn video_header(&self) -> Option<VideoHeader> {
        let AnnouncedVideo { residual, colours, bits, display } = self.video?;
        let (size, rate, models) = (self.size, self.rate, [self.model, residual]);
        Some(VideoHeader { size, rate, colours, bits, display, models, renditions: RenditionRates::ONE })
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::Video;

    use super::*;

    #[test]
    fn the_bits_of_samples_are_those_of_a_stored_video() {
        for bits in [8, 10, 16] {
            let video = Some(Video { bits, ..Video::new([2; 6]) });
            let rate = FrameRate::new(30, 1).expect("a rate");
            let welcome = Welcome { model: [1; 6], package: PackageHash([0; 32]), width: 32, height: 16, rate, video };
            let announced = Announcement::of(&welcome).expect("a size");
            assert_eq!(announced.video.map(|video| video.bits), Some(bits));
            assert_eq!(announced.video_header().map(|header| header.bits), Some(bits));
        }
    }
}
