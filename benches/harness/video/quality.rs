//! Quality of decoded frames: PSNR of luma, and of all three planes weighted 6:1:1.

use anyhow::{Result, ensure};
use nestcast_codec::{Format, Picture};
use nestcast_lab::metrics::ycbcr_psnr;
use serde::{Deserialize, Serialize};

use super::Clip;

/// One frame of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Bytes of the coded frame, all of them counted.
    pub bytes: usize,
    /// PSNR of luma in dB.
    pub luma_db: f64,
    /// PSNR of luma, blue and red difference in dB, weighted 6:1:1.
    pub ycbcr_db: f64,
}

/// A clip coded by one scheme at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// In the order in which they are shown.
    pub frames: Vec<Frame>,
}

impl Run {
    /// Compares decoded frames with the clip's.
    ///
    /// # Errors
    /// If there are more or fewer of them, or they differ in shape.
    pub fn new(clip: &Clip, bytes: &[usize], decoded: &[Picture]) -> Result<Self> {
        let count = clip.frames.len();
        let given = (bytes.len(), decoded.len());
        ensure!(given == (count, count), "{} coded and {} decoded frames of {count}", given.0, given.1);
        let frames = clip.frames.iter().zip(decoded).zip(bytes);
        let frames = frames.map(|((original, decoded), &bytes)| Frame::new(bytes, original, decoded));
        Ok(Self { frames: frames.collect::<Result<_>>()? })
    }
}

impl Frame {
    /// Compares two frames of planar YCbCr 4:2:0.
    ///
    /// # Errors
    /// If they differ in shape.
    pub fn new(bytes: usize, original: &Picture, decoded: &Picture) -> Result<Self> {
        let shape = |picture: &Picture| (picture.size(), picture.format());
        ensure!(shape(original) == shape(decoded), "a decoded frame has another shape than the original");
        ensure!(matches!(original.format(), Format::Ycbcr420(_)), "the frames are not planar YCbCr");
        let psnr = ycbcr_psnr(original, decoded);
        Ok(Self { bytes, luma_db: psnr.luma, ycbcr_db: psnr.weighted() })
    }
}
