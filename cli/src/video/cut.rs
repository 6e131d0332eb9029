//! `nestcast cut` of a stored video: the part of every frame that fits a bit rate.

use anyhow::{Result, bail};
use nestcast_lab::video::kbps;
use nestcast_media::output::Output;
use nestcast_media::stored::{self as media, Error, Kept};
use nestcast_media::{FrameRange, Input, InputError};

use super::clip;
use crate::args::Cut;
use crate::files;

/// The factor by which all bases may exceed a rate without a note: the heads of records need it.
const BASE_RATE_TOLERANCE: f64 = 1.005;

pub(crate) fn run(options: &Cut, input: Input<'_>, output: &Output) -> Result<()> {
    let Some(rate) = options.length.bitrate else { bail!("nestcast cuts a video frame by frame: give --bitrate") };
    let name = input.name();
    // Nothing is decoded, so pictures need no memory.
    let mut video = input.stored_video(FrameRange::default(), u64::MAX)?;
    let frame_rate = video.reader().header().rate;
    let mut pieces = output.begin()?;
    let Kept { frames, bytes, bases, uncut } =
        media::cut(&mut video, rate, &mut pieces).map_err(|error| match error {
            Error::Write(error) => anyhow::Error::from(output.explain(error)),
            other => InputError::named(&name, other).into(),
        })?;
    clip::end(&name, &video, frames)?;
    pieces.finish()?;
    if uncut > 0 {
        let broken = format!("{uncut} of the {frames} frames are broken");
        files::note(&format!("{broken}, and nestcast keeps them whole: get the video again"));
    }
    let [kept, least] = [bytes, bases].map(|bytes| kbps(bytes, frames, frame_rate));
    if least > rate.bits() as f64 / 1e3 * BASE_RATE_TOLERANCE {
        let what = "this rate is below the slowest receiver's";
        files::note(&format!("{what}: nestcast never cuts the base layer, and it needs {least:.0} kbit/s"));
    }
    let (path, s) = (options.output.display(), if frames == 1 { "" } else { "s" });
    files::say_beside(output, &format!("{path}: {frames} frame{s}, {bytes} bytes of frames, {kept:.0} kbit/s\n"))
}
