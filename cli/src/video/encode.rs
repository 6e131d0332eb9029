//! `nestcast encode` of a y4m video: one file for all bit rates.

use std::fmt;
use std::time::Instant;

use anyhow::{Result, ensure};
use nestcast_codec::{VideoHeader, VideoLoops};
use nestcast_lab::progress::Progress;
use nestcast_lab::video::kbps;
use nestcast_media::stored::{Error, Writer, Written};
use serde::Serialize;

use super::clip::Clip;
use crate::args::{Encode, Transform};
use crate::files::{self, Input, Output};

/// What was made of what; `--json` prints it as it is.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    width: usize,
    height: usize,
    frames: u64,
    keys: u64,
    frames_per_second: f64,
    /// What receivers are expected to carry, in kbit/s.
    least_kbps: f64,
    most_kbps: f64,
    loops: usize,
    bytes: u64,
    kbps: f64,
    encode_s: f64,
}

pub(crate) fn run(options: &Encode, input: Input<'_>, output: &Output<'_>) -> Result<()> {
    ensure!(options.max_bytes.is_none(), "--max-bytes is for pictures: give a video --bitrates");
    ensure!(options.analysis == Transform::Linear, "--analysis deep is for pictures: video has no other than linear");
    let model = super::model(&options.common)?;
    let mut clip = Clip::open(input, &options.video.frames, options.common.max_pixels)?;
    let (size, rate) = (clip.size(), clip.rate());
    let bitrates = options.video.bitrates(size, rate);
    let settings = options.video.settings(size, rate, options.common.threads());
    let encoder = VideoLoops::new(&model, settings, options.video.loops())?.with_effort(options.video.effort());
    let loops = encoder.rates();
    let header = VideoHeader { size, rate, range: clip.range(), models: model.ids(), loops };
    let progress = clip.progress();
    let start = Instant::now();
    let Written { frames, keys, bytes } = write(&mut clip, encoder, &header, output, &progress)?;
    drop(progress);
    let summary = Summary {
        input: files::name(&options.input),
        output: options.output.display().to_string(),
        width: size.width(),
        height: size.height(),
        frames,
        keys,
        frames_per_second: f64::from(rate.frames) / f64::from(rate.seconds),
        least_kbps: bitrates.least as f64 / 1e3,
        most_kbps: bitrates.most as f64 / 1e3,
        loops: loops.count(),
        bytes,
        kbps: kbps(bytes, frames, rate),
        encode_s: start.elapsed().as_secs_f64(),
    };
    files::conclude(output, options.json, &summary)
}

/// Encodes all frames.
fn write(
    clip: &mut Clip,
    encoder: VideoLoops,
    header: &VideoHeader,
    output: &Output<'_>,
    progress: &Progress,
) -> Result<Written> {
    let failed = |error| match error {
        Error::Write(error) => anyhow::Error::from(output.explain(error)),
        other => anyhow::Error::from(other).context("the video cannot be encoded"),
    };
    let mut picture = clip.picture();
    // The first frame is read before anything is written: there may be none.
    let mut more = clip.read_into(&mut picture)?;
    let mut writer = Writer::new(encoder, header, output.begin()?).map_err(failed)?;
    while more {
        writer.write(&picture).map_err(failed)?;
        progress.step();
        more = clip.read_into(&mut picture)?;
    }
    let (pieces, written) = writer.finish().map_err(failed)?;
    pieces.finish()?;
    Ok(written)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, width, height, frames, bytes, kbps, least_kbps, most_kbps, encode_s, .. } = self;
        let loops = if self.loops > 1 { format!(" in {} loops", self.loops) } else { String::new() };
        writeln!(
            f,
            "{output}: {width}x{height}, {frames} frames for {least_kbps}..{most_kbps} kbit/s{loops}, {bytes} bytes, \
             {kbps:.0} kbit/s, {encode_s:.1} s, {:.1} frames/s",
            *frames as f64 / encode_s
        )
    }
}
