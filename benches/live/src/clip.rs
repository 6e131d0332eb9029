//! What is broadcast: the clip that `nestcast demo` shows, forwards and backwards.

use anyhow::{Result, ensure};
use lzma_rust2::XzReader;
use nestcast_codec::Picture;
use nestcast_media::y4m::Reader;

const CLIP: &[u8] = include_bytes!("../../../cli/assets/signing.y4m.xz");

/// Frames a second.
pub const FRAMES_PER_SECOND: u32 = 30;

/// Its pictures.
pub struct Clip(Vec<Picture>);

impl Clip {
    /// Unpacks it.
    pub fn open() -> Result<Self> {
        let mut reader = Reader::new(XzReader::new(CLIP, false), u64::MAX)?;
        let mut frames = Vec::new();
        while let Some(picture) = reader.read()? {
            frames.push(picture);
        }
        ensure!(frames.len() > 1, "the clip is too short");
        Ok(Self(frames))
    }

    /// The pictures, each once.
    pub fn pictures(&self) -> &[Picture] {
        &self.0
    }

    /// Which of them frame `id` of the broadcast is.
    pub fn index(&self, id: u64) -> usize {
        let last = self.0.len() - 1;
        let place = usize::try_from(id % (2 * last as u64)).unwrap_or(0);
        if place <= last { place } else { 2 * last - place }
    }

    /// The picture of frame `id`.
    pub fn at(&self, id: u64) -> &Picture {
        &self.0[self.index(id)]
    }
}
