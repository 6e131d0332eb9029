//! Motion JPEG: every picture of the clip at every quality that is asked for.
//!
//! Bytes are counted as RTP carries them (RFC 2435): the tables follow from one number, so that only the entropy-coded
//! scan and 8 bytes of header are on the way.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use nestcast_codec::{Channels, Picture, Size};

use crate::clip::Clip;

const BEST: u8 = 100;

/// The clip as JPEG, encoded when first asked for.
pub struct Jpegs {
    clip: Arc<Clip>,
    files: Mutex<BTreeMap<(usize, u8), Vec<u8>>>,
}

impl Jpegs {
    /// Nothing is encoded yet.
    pub fn new(clip: Arc<Clip>) -> Self {
        Self { clip, files: Mutex::default() }
    }

    /// The file of one picture of the clip at a quality of 1 to 100.
    pub fn file(&self, index: usize, quality: u8) -> Result<Vec<u8>> {
        let mut files = self.files.lock().expect("nobody panics with it");
        if let Some(file) = files.get(&(index, quality)) {
            return Ok(file.clone());
        }
        let picture = &self.clip.pictures()[index];
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, quality);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        let [width, height] = [picture.size().width(), picture.size().height()].map(u16::try_from);
        encoder.encode(picture.samples(), width?, height?, ColorType::Rgb)?;
        files.insert((index, quality), file.clone());
        Ok(file)
    }

    /// Bytes of one picture on the way.
    pub fn bytes(&self, index: usize, quality: u8) -> Result<usize> {
        nestcast_lab::metrics::jpeg_over_rtp(&self.file(index, quality)?).context("a JPEG has a scan")
    }

    /// The highest quality at which one picture takes at most `bytes`; the lowest there is if none does.
    pub fn fitting(&self, index: usize, bytes: usize) -> Result<u8> {
        self.highest(|quality| Ok(self.bytes(index, quality)? <= bytes))
    }

    /// The highest quality at which the pictures take at most `bytes` in the mean; the lowest there is if none does.
    pub fn fitting_in_the_mean(&self, bytes: usize) -> Result<u8> {
        // Some of them say enough.
        let some: Vec<usize> = (0..self.clip.pictures().len()).step_by(9).collect();
        self.highest(|quality| {
            let sum: Result<usize> = some.iter().map(|&index| self.bytes(index, quality)).sum();
            Ok(sum? <= bytes * some.len())
        })
    }

    fn highest(&self, fits: impl Fn(u8) -> Result<bool>) -> Result<u8> {
        let (mut low, mut high) = (1, BEST + 1);
        while high - low > 1 {
            let middle = u8::midpoint(low, high);
            if fits(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }
}

/// What a decoder makes of a file.
pub fn decode(file: &[u8]) -> Result<Picture> {
    let image = image::ImageReader::with_format(Cursor::new(file), image::ImageFormat::Jpeg).decode()?.into_rgb8();
    Ok(Picture::new(Size::new(image.width(), image.height())?, Channels::Rgb, image.into_raw())?)
}
