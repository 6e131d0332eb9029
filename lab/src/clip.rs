//! A clip: pictures of a video, planar YCbCr 4:2:0, shown forwards and backwards so that there is no seam.

use std::io::Read;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lzma_rust2::XzReader;
use nestcast_codec::{Format, FrameRate, Picture, Size};
use nestcast_media::y4m::Reader;

/// `assets/README.md` names its origin.
const BUILTIN_CLIP: &[u8] = include_bytes!("../assets/signing.y4m.xz");
/// Frames a second of the built-in clip.
pub const FRAMES_PER_SECOND: u32 = 30;
/// The most samples that are kept of a long video.
const MAX_SAMPLES: usize = 256 << 20;

/// The pictures of a video.
#[derive(Debug)]
pub struct Clip {
    rate: FrameRate,
    size: Size,
    frames: Vec<Picture>,
}

impl Clip {
    /// Returns the built-in clip.
    ///
    /// # Errors
    /// None: the built-in clip is valid.
    pub fn builtin() -> Result<Self> {
        Self::read(XzReader::new(BUILTIN_CLIP, false), u64::MAX).context("the built-in video")
    }

    /// Reads a y4m video whose frames have at most `max_pixels`; of a long video, it keeps the first frames.
    ///
    /// # Errors
    /// If the input is no such video, its frames are larger, or it has no frames.
    pub fn read(input: impl Read, max_pixels: u64) -> Result<Self> {
        let mut reader = Reader::new(input, max_pixels)?;
        let rate = reader.rate();
        let size = reader.size();
        let empty = Picture::zero(size, Format::Ycbcr420(reader.colours()));
        let most = MAX_SAMPLES / empty.samples().len();
        ensure!(most > 0, "its pictures are too large to be kept");
        let mut frames = Vec::new();
        while frames.len() < most {
            let mut picture = empty.clone();
            if !reader.read_into(&mut picture)? {
                break;
            }
            frames.push(picture);
        }
        ensure!(!frames.is_empty(), "it has no frames");
        Ok(Self { rate, size, frames })
    }

    /// Shows the same pictures at another rate.
    #[must_use]
    pub fn at_rate(self, rate: FrameRate) -> Self {
        Self { rate, ..self }
    }

    /// Returns the frames a second.
    #[must_use]
    pub const fn rate(&self) -> FrameRate {
        self.rate
    }

    /// Returns the size of all pictures.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Returns the pictures, each once.
    #[must_use]
    pub fn pictures(&self) -> &[Picture] {
        &self.frames
    }

    /// Returns the picture of frame `id`.
    #[must_use]
    pub fn at(&self, id: u64) -> &Picture {
        &self.frames[self.index(id)]
    }

    /// Returns the number of frames from one showing of the first picture to the next, forwards and backwards.
    #[must_use]
    pub fn period(&self) -> u64 {
        (2 * (self.frames.len() as u64 - 1)).max(1)
    }

    /// Returns the index of frame `id`'s picture in [`pictures`](Self::pictures).
    #[must_use]
    pub fn index(&self, id: u64) -> usize {
        let last = self.frames.len() - 1;
        let place = usize::try_from(id % self.period()).unwrap_or(0);
        if place <= last { place } else { 2 * last - place }
    }

    /// Returns how many frames are due in a number of seconds.
    #[must_use]
    pub fn frames_in(&self, seconds: u32) -> u64 {
        u64::from(seconds) * u64::from(self.rate.frames()) / u64::from(self.rate.seconds())
    }

    /// Returns when frame `id` is due.
    #[must_use]
    pub fn time(&self, id: u64) -> Duration {
        self.rate.interval().saturating_mul(u32::try_from(id).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Ycbcr;

    use super::*;

    #[test]
    fn the_built_in_clip_goes_there_and_back() -> Result<()> {
        let clip = Clip::builtin()?;
        let count = clip.pictures().len();
        assert_eq!((clip.size().width(), clip.size().height(), count), (320, 240, 45));
        assert_eq!(clip.at(0).format(), Format::Ycbcr420(Ycbcr::BT601), "as the file has them");
        assert_eq!(clip.rate().frames(), FRAMES_PER_SECOND);
        assert_eq!(clip.frames_in(2), 60);
        let order: Vec<usize> = (0..90).map(|id| clip.index(id)).collect();
        assert_eq!(order[..3], [0, 1, 2]);
        assert_eq!(order[43..47], [43, 44, 43, 42]);
        assert_eq!(order[86..90], [2, 1, 0, 1]);
        assert_ne!(clip.at(0), clip.at(44));
        Ok(())
    }
}
