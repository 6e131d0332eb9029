//! Motion JPEG: every picture of a clip as JPEG, at the qualities asked for.
//!
//! The bytes of a JPEG are counted as RTP carries them (RFC 2435). One number determines the tables, so only the
//! entropy-coded scan and 8 bytes of header are sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_codec::Picture;

use crate::clip::Clip;
use crate::jpeg::{self, Sampling, Tables};
use crate::metrics;

/// How the rival is encoded; a page shows it.
pub const ENCODE_DESCRIPTION: &str = "4:2:0 JPEG with the standard's tables, encoded anew for every frame and receiver at the \
     highest quality that fits; its bytes are counted as RTP carries them (RFC 2435), without tables";

/// One picture of each group of this many is enough for the mean.
const SAMPLED_PICTURES: usize = 9;

/// The JPEGs of a clip's pictures, encoded when they are first asked for.
#[derive(Debug)]
pub struct MotionJpeg {
    clip: Arc<Clip>,
    /// The files, by index in the clip and quality.
    files: Mutex<BTreeMap<(usize, u8), Bytes>>,
    /// PSNR in dB, by the same keys.
    qualities: Mutex<BTreeMap<(usize, u8), f64>>,
}

impl MotionJpeg {
    /// Takes a clip; nothing is encoded yet.
    #[must_use]
    pub fn new(clip: Arc<Clip>) -> Self {
        Self { clip, files: Mutex::default(), qualities: Mutex::default() }
    }

    /// Returns the file of one picture of the clip at a quality of 1 to 100.
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

    /// Returns the bytes of one picture as they are sent.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn bytes(&self, index: usize, quality: u8) -> Result<usize> {
        metrics::jpeg_over_rtp(&self.file(index, quality)?).context("a JPEG has a scan")
    }

    /// Returns the PSNR of luma in dB of one picture at a quality.
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

    /// Returns one picture as a receiver sees it at a quality.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`] and [`jpeg::decode`].
    pub fn picture(&self, index: usize, quality: u8) -> Result<Picture> {
        jpeg::decode(&self.file(index, quality)?)
    }

    /// Returns the highest quality at which one picture needs at most `bytes`; `None` if even the lowest needs more.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn fitting(&self, index: usize, bytes: usize) -> Result<Option<u8>> {
        jpeg::highest(bytes, |quality| self.bytes(index, quality))
    }

    /// Returns the highest quality at which the pictures need at most `bytes` on average; `None` if even the lowest
    /// needs more.
    ///
    /// # Errors
    /// Those of [`jpeg::encode`].
    pub fn fitting_in_the_mean(&self, bytes: usize) -> Result<Option<u8>> {
        let sampled: Vec<usize> = (0..self.clip.pictures().len()).step_by(SAMPLED_PICTURES).collect();
        jpeg::highest(bytes * sampled.len(), |quality| sampled.iter().map(|&index| self.bytes(index, quality)).sum())
    }
}

/// Locks a map. Its entries stay valid even if a thread panicked while it held the lock.
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
