//! Motion JPEG: every picture of a clip as JPEG, at every quality that is asked for.
//!
//! Bytes of a JPEG are counted as RTP carries them (RFC 2435): the tables follow from one number, so that only the
//! entropy-coded scan and 8 bytes of header are on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_codec::Picture;

use crate::clip::Clip;
use crate::jpeg::{self, Sampling, Tables};
use crate::metrics;

/// How the rival is made; a page shows it.
pub const DESCRIPTION: &str = "4:2:0 JPEG with the standard's tables, encoded anew for every frame and receiver at the \
     highest quality that fits; its bytes are counted as RTP carries them (RFC 2435), without tables";

/// Of so many pictures one says enough about the mean.
const SAMPLED: usize = 9;

/// The JPEGs of a clip's pictures, made when they are first asked for.
#[derive(Debug)]
pub struct MotionJpeg {
    clip: Arc<Clip>,
    /// By place in the clip and quality.
    files: Mutex<BTreeMap<(usize, u8), Bytes>>,
    /// PSNR in dB, by the same.
    qualities: Mutex<BTreeMap<(usize, u8), f64>>,
}

impl MotionJpeg {
    /// Nothing is encoded yet.
    #[must_use]
    pub fn new(clip: Arc<Clip>) -> Self {
        Self { clip, files: Mutex::default(), qualities: Mutex::default() }
    }

    /// The file of one picture of the clip at a quality of 1 to 100.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn file(&self, index: usize, quality: u8) -> Result<Bytes> {
        let mut files = open(&self.files);
        if let Some(file) = files.get(&(index, quality)) {
            return Ok(file.clone());
        }
        let picture = &self.clip.pictures()[index];
        let file = Bytes::from(jpeg::encode(picture, quality, Sampling::Quarter, Tables::Fixed)?);
        files.insert((index, quality), file.clone());
        Ok(file)
    }

    /// Bytes of one picture on the way.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn bytes(&self, index: usize, quality: u8) -> Result<usize> {
        metrics::jpeg_over_rtp(&self.file(index, quality)?).context("a JPEG has a scan")
    }

    /// PSNR of luma in dB of one picture at a quality.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`] and [`jpeg::decode`].
    pub fn psnr(&self, index: usize, quality: u8) -> Result<f64> {
        if let Some(psnr) = open(&self.qualities).get(&(index, quality)) {
            return Ok(*psnr);
        }
        let psnr = metrics::luma_psnr(&self.clip.pictures()[index], &self.picture(index, quality)?);
        open(&self.qualities).insert((index, quality), psnr);
        Ok(psnr)
    }

    /// One picture as a receiver sees it at a quality.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`] and [`jpeg::decode`].
    pub fn picture(&self, index: usize, quality: u8) -> Result<Picture> {
        jpeg::decode(&self.file(index, quality)?)
    }

    /// The highest quality at which one picture takes at most `bytes`; none if even the lowest takes more.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn fitting(&self, index: usize, bytes: usize) -> Result<Option<u8>> {
        jpeg::highest(bytes, |quality| self.bytes(index, quality))
    }

    /// The highest quality at which the pictures take at most `bytes` in the mean; none if even the lowest takes more.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn fitting_in_the_mean(&self, bytes: usize) -> Result<Option<u8>> {
        let sampled: Vec<usize> = (0..self.clip.pictures().len()).step_by(SAMPLED).collect();
        jpeg::highest(bytes * sampled.len(), |quality| sampled.iter().map(|&index| self.bytes(index, quality)).sum())
    }
}

/// What is there by now; whoever panicked left it whole.
fn open<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_that_fits_is_found() -> Result<()> {
        let rival = MotionJpeg::new(Arc::new(Clip::builtin()?));
        assert_eq!(rival.fitting(0, 100)?, None);
        assert_eq!(rival.fitting(0, usize::MAX)?, Some(100));
        let quality = rival.fitting(0, 5000)?.context("fits")?;
        let size = rival.bytes(0, quality)?;
        assert!(size <= 5000 && rival.bytes(0, quality + 1)? > 5000);
        let file = rival.file(0, quality)?.len();
        assert!(size > file / 2 && size < file - 500, "{size} of {file}: the tables are not counted");
        assert!(rival.psnr(0, quality)? > 25.0);
        assert!(rival.fitting_in_the_mean(5000)?.is_some_and(|mean| mean.abs_diff(quality) < 20));
        Ok(())
    }
}
