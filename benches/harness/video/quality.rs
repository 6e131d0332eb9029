//! Quality of decoded frames: PSNR of luma, and of all three planes weighted 6:1:1.

use anyhow::{Result, ensure};
use nestcast_codec::Picture;
use serde::{Deserialize, Serialize};

use super::Clip;

/// Weights of luma and of the colour differences in the mean of their PSNR, as common test conditions have it.
const WEIGHTS: [f64; 3] = [6.0, 1.0, 1.0];

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
        let (size, format) = shape(original);
        ensure!(format.planes() == WEIGHTS.len(), "the frames are not planar YCbCr");
        let (mut a, mut b) = (original.samples(), decoded.samples());
        let mut planes = [0.0; WEIGHTS.len()];
        for (plane, db) in planes.iter_mut().enumerate() {
            let [bytes, rows] = format.plane(size, plane);
            let (first, second);
            (first, a) = a.split_at(bytes * rows);
            (second, b) = b.split_at(bytes * rows);
            *db = psnr(first, second);
        }
        let weighted: f64 = planes.iter().zip(WEIGHTS).map(|(db, weight)| db * weight).sum();
        Ok(Self { bytes, luma_db: planes[0], ycbcr_db: weighted / WEIGHTS.iter().sum::<f64>() })
    }
}

/// In dB; of equal planes as if one sample were off by one, so that means stay finite.
fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let squares: u64 = a.iter().zip(b).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / squares.max(1) as f64).log10()
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Format, Range, Size};

    use super::*;

    #[test]
    fn luma_weighs_six_of_eight() {
        let picture = |[y, cb, cr]: [u8; 3]| {
            let planes = [(y, 15), (cb, 6), (cr, 6)];
            let samples = planes.iter().flat_map(|&(value, count)| vec![value; count]).collect();
            let size = Size::new(5, 3).expect("a valid size");
            Picture::new(size, Format::Ycbcr420(Range::Limited), samples).expect("the shape fits")
        };
        let frame = Frame::new(9, &picture([50, 100, 100]), &picture([60, 101, 97])).expect("one shape");
        // Errors of 10, 1 and 3: 28.13, 48.13 and 38.59 dB.
        assert!((frame.luma_db - 28.130_803_6).abs() < 1e-6, "{frame:?}");
        assert!((frame.ycbcr_db - (6.0 * 28.130_803_6 + 48.130_803_6 + 38.588_378_5) / 8.0).abs() < 1e-6, "{frame:?}");
        let same = Frame::new(9, &picture([1; 3]), &picture([1; 3])).expect("one shape");
        assert!((same.luma_db - 10.0 * (65_025.0_f64 * 15.0).log10()).abs() < 1e-9);
    }
}
