//! Lines of the tables: a clip by one scheme at one rate, and single frames.

use anyhow::{Result, ensure};
use nestcast_lab::rate_distortion::rounded;
use nestcast_lab::video::{FIRST_FRAME, Frame, Summary};
use serde::{Deserialize, Serialize};

use super::{Clip, Run};

/// A clip by one scheme at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The receiver's rate in kbit/s.
    pub kbps: f64,
    /// The rate in kbit/s that was used, with all bytes counted.
    pub used_kbps: f64,
    /// Mean over frames of the PSNR of luma, in dB.
    pub luma_db: f64,
    /// The least PSNR of luma.
    pub luma_least_db: f64,
    /// The largest difference of luma's PSNR between successive frames.
    pub luma_jump_db: f64,
    /// Mean PSNR of luma and both colour differences, weighted 6:1:1.
    pub ycbcr_db: f64,
    /// The least of `ycbcr_db`'s PSNR.
    pub ycbcr_least_db: f64,
    /// The largest difference of `ycbcr_db`'s PSNR between successive frames.
    pub ycbcr_jump_db: f64,
    /// Frame times that the largest frame takes at the receiver's rate.
    pub largest_frame: f64,
}

/// One frame of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The receiver's rate in kbit/s.
    pub kbps: f64,
    /// Index in the clip, from 0.
    pub frame: usize,
    /// Bytes.
    pub bytes: usize,
    /// PSNR of luma in dB.
    pub luma_db: f64,
}

impl Row {
    /// Returns the rate in kbit/s that a link needs: the receiver's, or the used rate if that is higher.
    #[must_use]
    pub fn link_kbps(&self) -> f64 {
        self.kbps.max(self.used_kbps)
    }

    /// Computes the figures of one run.
    ///
    /// # Errors
    /// If the run has too few frames.
    pub fn new(clip: &Clip, scheme: &str, kbps: f64, run: &Run) -> Result<Self> {
        ensure!(run.frames.len() > FIRST_FRAME + 1, "a run with too few frames");
        let luma = Summary::of(&run.frames, |frame| frame.luma_db);
        let ycbcr = Summary::of(&run.frames, |frame| frame.ycbcr_db);
        let largest = run.frames.iter().map(|frame| frame.bytes).max().unwrap_or(0);
        let db = |value| rounded(value, 3);
        Ok(Self {
            clip: clip.name.clone(),
            scheme: scheme.to_owned(),
            kbps: rounded(kbps, 2),
            used_kbps: rounded(clip.kbps(run.frames.iter().map(|frame| frame.bytes).sum()), 2),
            luma_db: db(luma.mean),
            luma_least_db: db(luma.least),
            luma_jump_db: db(luma.jump),
            ycbcr_db: db(ycbcr.mean),
            ycbcr_least_db: db(ycbcr.least),
            ycbcr_jump_db: db(ycbcr.jump),
            largest_frame: rounded(largest as f64 / clip.frame_bytes(kbps), 2),
        })
    }
}

impl FrameRow {
    /// Returns all frames of one run.
    #[must_use]
    pub fn all(clip: &Clip, scheme: &str, kbps: f64, run: &Run) -> Vec<Self> {
        let row = |(frame, of): (usize, &Frame)| Self {
            clip: clip.name.clone(),
            scheme: scheme.to_owned(),
            kbps: rounded(kbps, 2),
            frame,
            bytes: of.bytes,
            luma_db: rounded(of.luma_db, 2),
        };
        run.frames.iter().enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn quality_counts_when_rate_control_has_settled_and_bytes_from_the_start() {
        let clip = moving(16, 8, 30);
        let frame = |n: usize| Frame {
            bytes: if n == 0 { 3000 } else { 500 },
            luma_db: if n < FIRST_FRAME { 10.0 } else { 30.0 + 2.0 * f64::from(u8::from(n == 20)) },
            ycbcr_db: 40.0,
        };
        let run = Run { frames: (0..30).map(frame).collect() };
        let row = Row::new(&clip, "x264", 140.0, &run).expect("enough frames");
        assert_eq!((row.used_kbps, row.luma_least_db, row.luma_jump_db), (140.0, 30.0, 2.0));
        assert_eq!((row.luma_db, row.ycbcr_db, row.ycbcr_jump_db), (30.091, 40.0, 0.0));
        assert_eq!(row.largest_frame, 5.14);
        assert!(Row::new(&clip, "x264", 140.0, &Run { frames: run.frames[..9].to_vec() }).is_err());
        assert_eq!(FrameRow::all(&clip, "x264", 140.0, &run)[20].luma_db, 32.0);
    }
}
