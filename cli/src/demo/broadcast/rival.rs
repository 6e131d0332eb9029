//! Motion JPEG with the same bytes: for every frame the best JPEG that fits into what the receiver got of it.
//!
//! Bytes of a JPEG are counted as RTP carries them (RFC 2435): the tables follow from one number, so that only the
//! entropy-coded scan and 8 bytes of header are on the way.

use std::collections::HashMap;

use anyhow::{Context, Result};
use nestcast_codec::Picture;
use nestcast_lab::metrics;
use nestcast_media::picture;

use super::clip::Clip;
use crate::demo::jpeg::{self, Sampling, Tables};

/// How the rival is made; the page shows it.
pub(super) const DESCRIPTION: &str = "4:2:0 JPEG with the standard's tables, encoded anew for every frame and receiver \
     at the highest quality that fits; its bytes are counted as RTP carries them (RFC 2435), without tables";

/// The JPEGs of a clip's frames, made when they are asked for.
pub(super) struct Rival<'a> {
    clip: &'a Clip,
    /// By place in the clip and quality.
    sizes: HashMap<(usize, u8), usize>,
    qualities: HashMap<(usize, u8), f64>,
}

impl<'a> Rival<'a> {
    pub(super) fn new(clip: &'a Clip) -> Self {
        Self { clip, sizes: HashMap::new(), qualities: HashMap::new() }
    }

    /// The highest quality of frame `id` that takes at most `bytes`; none if even the lowest takes more.
    pub(super) fn fitting(&mut self, id: u64, bytes: usize) -> Result<Option<u8>> {
        // Sizes rise with the quality, but for a few bytes: then a quality too low by one is found.
        let (mut fits, mut exceeds) = (0, jpeg::BEST + 1);
        while exceeds - fits > 1 {
            let quality = u8::midpoint(fits, exceeds);
            if self.size(id, quality)? <= bytes { fits = quality } else { exceeds = quality }
        }
        Ok((fits > 0).then_some(fits))
    }

    /// PSNR of frame `id` at a quality.
    pub(super) fn psnr(&mut self, id: u64, quality: u8) -> Result<f64> {
        let key = (self.clip.index(id), quality);
        if let Some(psnr) = self.qualities.get(&key) {
            return Ok(*psnr);
        }
        let psnr = metrics::psnr(self.clip.at(id), &self.picture(id, quality)?.0);
        self.qualities.insert(key, psnr);
        Ok(psnr)
    }

    /// Frame `id` at a quality, and its file.
    pub(super) fn picture(&self, id: u64, quality: u8) -> Result<(Picture, Vec<u8>)> {
        let file = self.encode(id, quality)?;
        Ok((picture::decode(&file, u64::MAX)?.picture, file))
    }

    fn size(&mut self, id: u64, quality: u8) -> Result<usize> {
        let key = (self.clip.index(id), quality);
        if let Some(size) = self.sizes.get(&key) {
            return Ok(*size);
        }
        let size = metrics::jpeg_over_rtp(&self.encode(id, quality)?).context("a JPEG has a scan")?;
        self.sizes.insert(key, size);
        Ok(size)
    }

    fn encode(&self, id: u64, quality: u8) -> Result<Vec<u8>> {
        jpeg::encode(self.clip.at(id), quality, Sampling::Quarter, Tables::Fixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_that_fits_is_found() {
        let clip = Clip::open(None, 0).expect("it is sound");
        let mut rival = Rival::new(&clip);
        assert_eq!(rival.fitting(0, 100).expect("encodes"), None);
        assert_eq!(rival.fitting(0, usize::MAX).expect("encodes"), Some(100));
        let quality = rival.fitting(0, 5000).expect("encodes").expect("fits");
        assert!(rival.size(0, quality).expect("encodes") <= 5000);
        assert!(rival.size(0, quality + 1).expect("encodes") > 5000);
        let file = rival.picture(0, quality).expect("decodes").1;
        let size = rival.size(0, quality).expect("encodes");
        assert!(
            size > file.len() / 2 && size < file.len() - 500,
            "{size} of {}: the tables are not counted",
            file.len()
        );
    }
}
