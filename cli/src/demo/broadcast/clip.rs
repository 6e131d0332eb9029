//! What is broadcast: a short clip, played forwards and backwards so that it has no seam.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lzma_rust2::XzReader;
use nestcast_codec::{Picture, Size};
use nestcast_media::y4m::{Rate, Reader};

use crate::files;

/// What is shown unless another video is named; `assets/README.md` says where it is from.
const CLIP: &[u8] = include_bytes!("../../../assets/signing.y4m.xz");
const CLIP_NAME: &str = "Sign language";
const CLIP_CREDIT: &str =
    "Video: a clip of the sign for \u{201c}book\u{201d} in American Sign Language, CC BY 4.0, shortened.";
/// Samples of the frames that are kept of a long video.
const MAX_SAMPLES: usize = 256 << 20;

/// The pictures of a video.
pub(super) struct Clip {
    pub(super) name: String,
    pub(super) credit: Option<&'static str>,
    pub(super) rate: Rate,
    pub(super) size: Size,
    frames: Vec<Picture>,
}

impl Clip {
    /// Reads a y4m file, or what is built in.
    pub(super) fn open(path: Option<&Path>, max_pixels: u64) -> Result<Self> {
        let Some(path) = path else {
            let input = XzReader::new(CLIP, false);
            return Self::read(CLIP_NAME.to_owned(), Some(CLIP_CREDIT), input, u64::MAX).context("the built-in video");
        };
        let name = path.file_name().map_or_else(|| files::name(path), |name| name.to_string_lossy().into_owned());
        let input = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::read(name, None, input, max_pixels).with_context(|| format!("{} is refused", path.display()))
    }

    fn read(name: String, credit: Option<&'static str>, input: impl Read, max_pixels: u64) -> Result<Self> {
        let mut reader = Reader::new(input, max_pixels)?;
        let (rate, size) = (reader.rate(), reader.size());
        let most = MAX_SAMPLES / (size.pixels() * 3).max(1);
        ensure!(most > 0, "its pictures are too large for the demo: `nestcast send` broadcasts them");
        let mut frames = Vec::new();
        while frames.len() < most {
            let Some(picture) = reader.read()? else { break };
            frames.push(picture);
        }
        ensure!(!frames.is_empty(), "it has no frames");
        Ok(Self { name, credit, rate, size, frames })
    }

    /// The picture of frame `id` of the broadcast.
    pub(super) fn at(&self, id: u64) -> &Picture {
        &self.frames[self.index(id)]
    }

    /// Its place in the clip.
    pub(super) fn index(&self, id: u64) -> usize {
        let last = self.frames.len() - 1;
        let there_and_back = (2 * last).max(1) as u64;
        let place = usize::try_from(id % there_and_back).unwrap_or(0);
        if place <= last { place } else { 2 * last - place }
    }

    /// How many frames are due in a number of seconds.
    pub(super) fn frames_in(&self, seconds: u32) -> u64 {
        u64::from(seconds) * u64::from(self.rate.frames()) / u64::from(self.rate.seconds())
    }

    /// When frame `id` is due, in seconds.
    pub(super) fn seconds(&self, id: u64) -> f64 {
        id as f64 * self.rate.interval().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_clip_goes_there_and_back() {
        let clip = Clip::open(None, 0).expect("it is sound");
        let count = clip.frames.len();
        assert_eq!((clip.size.width(), clip.size.height(), count), (320, 240, 45));
        assert_eq!(clip.frames_in(2), 60);
        let order: Vec<usize> = (0..90).map(|id| clip.index(id)).collect();
        assert_eq!(order[..3], [0, 1, 2]);
        assert_eq!(order[43..47], [43, 44, 43, 42]);
        assert_eq!(order[86..90], [2, 1, 0, 1]);
        assert_ne!(clip.at(0), clip.at(44));
    }
}
