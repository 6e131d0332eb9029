//! `nestcast encode` of a y4m video: one file for all bit rates.

use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{FrameRate, Population, Size, VideoHeader, VideoLoops, VideoSettings, VideoWriter};
use nestcast_lab::progress::Progress;
use nestcast_lab::video::kbps;
use serde::Serialize;

use super::clip::Clip;
use crate::args::{Bitrates, Effort, Encode, Transform};
use crate::files::{self, Input, Lines, Output};

/// Bits a second of the slowest receiver, unless told otherwise, of a video of [`USUAL_SAMPLES`]: 27 to 36 dB,
/// by clip.
const USUAL_LEAST: f64 = 80e3;
/// Luma samples a second of 320x180 pixels, 30 times a second.
const USUAL_SAMPLES: f64 = 320.0 * 180.0 * 30.0;
/// Rate grows with this power of the samples a second: larger pictures are smoother, faster ones change less.
const GROWTH: f64 = 0.75;
/// How many times the slowest receiver's rate the fastest has: 40 to 48 dB.
const FACTOR: u64 = 16;

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
    let mut clip = Clip::open(input, &options.frames, options.common.max_pixels)?;
    let (size, rate) = (clip.size(), clip.rate());
    let bitrates = options.bitrates.unwrap_or_else(|| usual(size, rate));
    let population = population(bitrates);
    let settings = VideoSettings { size, rate, population, threads: options.common.threads() };
    let encoder = VideoLoops::new(&model, settings, options.loops.unwrap_or(1))?;
    let mut encoder = encoder.with_effort(effort(options.effort));
    let loops = encoder.rates();
    let header = VideoHeader { size, rate, range: clip.range(), models: model.ids(), loops };
    let progress = clip.progress();
    let start = Instant::now();
    let written = write(&mut clip, &mut encoder, &header, output, &progress)?;
    drop(progress);
    let [frames, keys, bytes] = written;
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
    if options.json {
        return Lines::beside(&options.output).print_pretty(&summary);
    }
    if output.is_standard() {
        return Ok(());
    }
    files::print(&describe(&summary))
}

/// Encodes all frames, and gives how many, how many of them are keys, and their bytes.
fn write(
    clip: &mut Clip,
    encoder: &mut VideoLoops,
    header: &VideoHeader,
    output: &Output<'_>,
    progress: &Progress,
) -> Result<[u64; 3]> {
    let [mut frames, mut keys, mut bytes] = [0; 3];
    let mut picture = clip.picture();
    // The first frame is read before anything is written: there may be none.
    let mut more = clip.read_into(&mut picture)?;
    let mut pieces = output.begin()?;
    let mut put = |piece: &[u8]| {
        bytes += piece.len() as u64;
        pieces.write_all(piece).map_err(|error| output.explain(error))
    };
    let (mut writer, start) = VideoWriter::new(header);
    put(&start)?;
    while more {
        let coded = encoder.encode(&picture).context("the video cannot be encoded")?;
        for (number, frame) in coded.iter().enumerate() {
            put(&writer.frame(&frame.bytes, frame.key && number == 0))?;
        }
        frames += 1;
        keys += u64::from(coded[0].key);
        progress.step();
        more = clip.read_into(&mut picture)?;
    }
    put(&writer.finish())?;
    pieces.finish()?;
    Ok([frames, keys, bytes])
}

/// The effort that was asked for.
pub(super) fn effort(asked: Option<Effort>) -> nestcast_codec::Effort {
    asked.map_or_else(Default::default, Into::into)
}

/// Receivers between two rates.
pub(super) fn population(Bitrates { least, most }: Bitrates) -> Population {
    Population::log_uniform(least as f64, most as f64)
}

/// The rates of receivers nobody told anything about.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
pub(super) fn usual(size: Size, rate: FrameRate) -> Bitrates {
    let samples = size.pixels() as f64 * f64::from(rate.frames) / f64::from(rate.seconds);
    let least = USUAL_LEAST * (samples / USUAL_SAMPLES).powf(GROWTH);
    let least = ((least / 1e3).round() as u64).max(1) * 1000;
    Bitrates { least, most: FACTOR * least }
}

fn describe(summary: &Summary) -> String {
    let Summary { output, width, height, frames, bytes, kbps, least_kbps, most_kbps, encode_s, .. } = summary;
    let loops = if summary.loops > 1 { format!(" in {} loops", summary.loops) } else { String::new() };
    format!(
        "{output}: {width}x{height}, {frames} frames for {least_kbps}..{most_kbps} kbit/s{loops}, {bytes} bytes, \
         {kbps:.0} kbit/s, {encode_s:.1} s, {:.1} frames/s\n",
        *frames as f64 / encode_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_rates_grow_slower_than_pictures() {
        let least = |width, height, frames| {
            let rates = usual(Size::new(width, height).expect("a valid size"), FrameRate { frames, seconds: 1 });
            assert_eq!(rates.most, 16 * rates.least);
            rates.least
        };
        assert_eq!([least(320, 180, 30), least(640, 360, 30), least(1280, 720, 30)], [80_000, 226_000, 640_000]);
        assert_eq!([least(1, 1, 1), least(320, 180, 60)], [1000, 135_000]);
    }
}
