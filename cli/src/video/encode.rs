//! `nestcast encode` of a y4m video: one file for all bit rates.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use nestcast_codec::{VideoHeader, VideoRenditions};
use nestcast_lab::encoded::{EncodedVideo, Names};
use nestcast_media::Input;
use nestcast_media::output::Output;
use nestcast_media::stored::{Error, Writer};

use super::clip::{self, Clip};
use crate::args::Encode;
use crate::files;

pub(crate) fn run(options: &Encode, input: Input<'_>, output: &Output) -> Result<()> {
    ensure!(options.max_bytes.is_none(), "--max-bytes is for pictures: for a video give --bitrates");
    options.picture.refuse()?;
    let model = clip::model(&options.common)?;
    let coding = &options.video;
    let name = input.name();
    let names = Names::new(name.clone(), output.path());
    let mut clip = Clip::open(input, coding, options.common.max_pixels, options.bits)?;
    let (size, rate) = (clip.frames.size(), clip.frames.rate());
    let (colours, bits, display) = (clip.frames.colours(), clip.frames.bits(), clip.frames.display());
    let settings = coding.settings(size, rate, options.common.threads());
    let encoder = VideoRenditions::new(&model, settings, coding.renditions.unwrap_or(1))?;
    let encoder = encoder.with_effort(coding.effort.unwrap_or_default());
    let header = VideoHeader { size, rate, colours, bits, display, models: model.ids(), renditions: encoder.rates() };
    let failed = |error| match error {
        Error::Write(error) => anyhow::Error::from(output.explain(error)),
        other => anyhow::Error::from(other).context("the video cannot be encoded"),
    };
    let start = Instant::now();
    let mut writer = Writer::new(encoder, &header, output.begin()?);
    let broken = clip.for_each(|picture| writer.write(picture).map_err(failed))?;
    let (pieces, written) = writer.finish().map_err(failed)?;
    pieces.finish()?;
    drop(clip);
    let (bitrates, frames) = (coding.bitrates(size, rate), written.frames);
    files::conclude(output, options.json, &EncodedVideo::new(names, &header, written, bitrates, start.elapsed()))?;
    let s = if frames == 1 { "" } else { "s" };
    match broken {
        Some(error) => bail!("{name}: {error}: {} has the {frames} frame{s} before", output.path().display()),
        None => Ok(()),
    }
}
