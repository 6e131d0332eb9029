//! The result of cutting a stored video: a line and notes for people.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use nestcast_codec::{Bitrate, FrameRate};
use nestcast_media::stored::Kept;

use crate::video::kbps;

/// The factor by which all bases may exceed a rate without a note: the heads of records need it.
const BASE_RATE_TOLERANCE: f64 = 1.005;

/// What a cut left of a video.
#[derive(Debug)]
pub struct CutVideo {
    output: String,
    kept: Kept,
    rate: FrameRate,
}

impl CutVideo {
    /// Takes the path of the output, what was kept, and the frame rate.
    #[must_use]
    pub fn new(output: &Path, kept: Kept, rate: FrameRate) -> Self {
        Self { output: output.display().to_string(), kept, rate }
    }

    /// Returns notes on how the result differs from what a cut to this bit rate promises.
    #[must_use]
    pub fn notes(&self, bitrate: Bitrate) -> Vec<String> {
        let Kept { frames, bytes, bases, uncut, cut } = self.kept;
        let [all, least] = [bytes, bases].map(|bytes| kbps(bytes, frames, self.rate));
        let asked = bitrate.bits() as f64 / 1e3;
        let mut notes = Vec::new();
        if uncut > 0 {
            let broken = format!("{uncut} of the {frames} frames are broken");
            notes.push(format!("{broken}, and nestcast keeps them whole: get the video again"));
        }
        if least > asked * BASE_RATE_TOLERANCE {
            let what = "this rate is below the slowest receiver's";
            notes.push(format!("{what}: nestcast never cuts the base layer, and it needs {least:.0} kbit/s"));
        } else if cut == 0 && all < asked {
            notes.push(format!("the video has {all:.0} kbit/s, less than you asked for: nestcast uses all of it"));
        }
        notes
    }
}

impl Display for CutVideo {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { output, kept: Kept { frames, bytes, .. }, rate } = self;
        let (s, kbps) = (if *frames == 1 { "" } else { "s" }, kbps(*bytes, *frames, *rate));
        writeln!(f, "{output}: {frames} frame{s}, {bytes} bytes of frames, {kbps:.0} kbit/s")
    }
}
