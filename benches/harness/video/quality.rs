//! A clip coded by one scheme at one rate, frame by frame.

use anyhow::{Result, ensure};
use nestcast_codec::Picture;
use nestcast_lab::video::Frame;
use serde::{Deserialize, Serialize};

use super::Clip;

/// A clip coded by one scheme at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The frames in the order in which they are shown.
    pub frames: Vec<Frame>,
}

impl Run {
    /// Compares decoded frames with the clip's.
    ///
    /// # Errors
    /// If their numbers differ.
    pub fn new(clip: &Clip, bytes: &[usize], decoded: &[Picture]) -> Result<Self> {
        let count = clip.frames.len();
        let given = (bytes.len(), decoded.len());
        ensure!(given == (count, count), "{} coded and {} decoded frames of {count}", given.0, given.1);
        let frames = clip.frames.iter().zip(decoded).zip(bytes);
        let frames = frames.map(|((original, decoded), &bytes)| Frame::new(bytes, original, decoded));
        Ok(Self { frames: frames.collect() })
    }
}
