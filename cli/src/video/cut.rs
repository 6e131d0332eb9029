//! `nestcast cut` of a stored video: the part of every frame that fits a bit rate.

use anyhow::{Result, bail};
use nestcast_lab::cut::CutVideo;
use nestcast_media::output::Output;
use nestcast_media::stored::{self as media, Error};
use nestcast_media::{FrameRange, Input, InputError};

use super::clip;
use crate::args::Cut;
use crate::files;

pub(crate) fn run(options: &Cut, input: Input<'_>, output: &Output) -> Result<()> {
    let Some(rate) = options.length.bitrate else { bail!("nestcast cuts a video frame by frame: give --bitrate") };
    let name = input.name();
    // Nothing is decoded, so pictures need no memory.
    let mut video = input.stored_video(FrameRange::default(), u64::MAX)?;
    let frame_rate = video.reader().header().rate;
    let mut pieces = output.begin()?;
    let kept = media::cut(&mut video, rate, &mut pieces).map_err(|error| match error {
        Error::Write(error) => anyhow::Error::from(output.explain(error)),
        other => InputError::named(&name, other).into(),
    })?;
    clip::end(&name, &video, kept.frames)?;
    pieces.finish()?;
    let cut = CutVideo::new(&options.output, kept, frame_rate);
    cut.notes(rate).iter().for_each(|note| files::note(note));
    files::say_beside(output, &cut.to_string())
}
