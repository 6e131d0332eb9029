//! `nestcast eval` of a y4m video: encoded once, decoded at five rates.

use anyhow::{Context, Result, ensure};
use nestcast_codec::{FrameRate, VideoSettings};
use nestcast_lab::rate_distortion::rounded;
use nestcast_lab::video::{Frame, Measured, Measurement, Run};
use serde::Serialize;

use super::clip::Clip;
use super::encode::{effort, population, usual};
use crate::args::{Bitrates, Decoders, Eval, Transform};
use crate::files::{self, Input, Lines, Output};

/// Rates that are measured.
const RATES: u32 = 5;

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) video: String,
    width: usize,
    height: usize,
    frames: usize,
    frames_per_second: f64,
    encode_frames_per_second: f64,
    pub(super) rates: Vec<Row>,
    /// Against every frame coded alone, in percent.
    bd_rate_luma: Option<f64>,
    bd_rate_ycbcr: Option<f64>,
}

/// One rate.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) kbps: f64,
    used_kbps: f64,
    bytes: usize,
    pub(super) luma_db: f64,
    luma_least_db: f64,
    luma_jump_db: f64,
    pub(super) ycbcr_db: f64,
    ycbcr_least_db: f64,
    ycbcr_jump_db: f64,
    pub(super) intra_luma_db: f64,
    decode_frames_per_second: f64,
}

/// A line of the table: one frame at one rate.
#[derive(Debug, Serialize)]
struct FrameRow {
    kbps: f64,
    frame: usize,
    bytes: usize,
    luma_db: f64,
    ycbcr_db: f64,
}

pub(crate) fn run(options: &Eval, input: Input<'_>) -> Result<()> {
    let deep = options.decoder.is_some_and(|asked| asked != Decoders::Linear) || options.analysis == Transform::Deep;
    ensure!(!deep, "deep transforms are for pictures: video has no other than linear");
    ensure!(options.grid.is_none(), "--grid is for pictures: give a video --bitrates");
    #[cfg(feature = "perceptual")]
    ensure!(!options.perceptual, "--perceptual is for pictures: leave it out");
    super::model(&options.common)?;
    let piped = piped(options)?;
    let place = |path| Output::new(path, &[input.path()]);
    let csv = options.csv.as_deref().map(place).transpose()?;
    #[cfg(feature = "plot")]
    let plot = options.plot.as_deref().map(place).transpose()?;
    let clip = Clip::open(input, &options.frames, options.common.max_pixels)?;
    let (report, measured) = measure(options, clip)?;
    #[cfg(feature = "plot")]
    if let Some(output) = plot {
        output.write(super::chart::of(&report)?.as_bytes())?;
    }
    if let Some(output) = &csv {
        output.write(table(&measured)?.as_bytes())?;
    }
    if options.json {
        return if piped { Lines::Error } else { Lines::Output }.print_pretty(&report);
    }
    if piped {
        return Ok(());
    }
    files::print_result(&describe(&report))
}

/// Whether the table or the plot goes to standard output, which only one of them can.
fn piped(options: &Eval) -> Result<bool> {
    let outputs = [
        options.csv.as_deref(),
        #[cfg(feature = "plot")]
        options.plot.as_deref(),
    ];
    let count = outputs.into_iter().flatten().filter(|output| files::is_standard(output)).count();
    ensure!(count < 2, "--csv and --plot cannot both go to standard output: name a file for one of them");
    Ok(count == 1)
}

fn measure(options: &Eval, mut clip: Clip) -> Result<(Report, Measured)> {
    let (size, rate) = (clip.size(), clip.rate());
    let bitrates = options.bitrates.unwrap_or_else(|| usual(size, rate));
    let settings = VideoSettings { size, rate, population: population(bitrates), threads: options.common.threads() };
    let mut measurement =
        Measurement::new(&settings, options.loops.unwrap_or(1), effort(options.effort), &rates(bitrates))?;
    let progress = clip.progress();
    let mut picture = clip.picture();
    while clip.read_into(&mut picture)? {
        measurement.push(&picture).context("the video cannot be measured")?;
        progress.step();
    }
    let measured = measurement.finish();
    let frames = measured.video[0].frames.len();
    let percent = |db| measured.bd_rate(db).map(|percent| rounded(percent, 2));
    let report = Report {
        video: clip.name().to_owned(),
        width: size.width(),
        height: size.height(),
        frames,
        frames_per_second: rounded(f64::from(rate.frames) / f64::from(rate.seconds), 3),
        encode_frames_per_second: rounded(frames as f64 / measured.encode.as_secs_f64(), 1),
        rates: measured.video.iter().zip(&measured.intra).map(|(run, intra)| Row::new(run, intra, rate)).collect(),
        bd_rate_luma: percent(luma as fn(&Frame) -> f64),
        bd_rate_ycbcr: percent(ycbcr),
    };
    Ok((report, measured))
}

fn luma(frame: &Frame) -> f64 {
    frame.luma_db
}

fn ycbcr(frame: &Frame) -> f64 {
    frame.ycbcr_db
}

/// From the first to the second, by equal factors.
fn rates(Bitrates { least, most }: Bitrates) -> Vec<f64> {
    let factor = most as f64 / least as f64;
    (0..RATES).map(|number| least as f64 * factor.powf(f64::from(number) / f64::from(RATES - 1))).collect()
}

impl Row {
    fn new(run: &Run, intra: &Run, rate: FrameRate) -> Self {
        let [y, all, alone] = [run.summary(luma), run.summary(ycbcr), intra.summary(luma)];
        let db = |value| rounded(value, 3);
        let frames = run.frames.len();
        Self {
            kbps: rounded(run.rate / 1e3, 2),
            used_kbps: rounded(super::kbps(run.bytes() as u64, frames as u64, rate), 2),
            bytes: run.bytes(),
            luma_db: db(y.mean),
            luma_least_db: db(y.least),
            luma_jump_db: db(y.jump),
            ycbcr_db: db(all.mean),
            ycbcr_least_db: db(all.least),
            ycbcr_jump_db: db(all.jump),
            intra_luma_db: db(alone.mean),
            decode_frames_per_second: rounded(frames as f64 / run.decode.as_secs_f64(), 1),
        }
    }
}

fn table(measured: &Measured) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for run in &measured.video {
        for (frame, of) in run.frames.iter().enumerate() {
            let [luma_db, ycbcr_db] = [of.luma_db, of.ycbcr_db].map(|db| rounded(db, 3));
            writer.serialize(FrameRow {
                kbps: rounded(run.rate / 1e3, 2),
                frame,
                bytes: of.bytes,
                luma_db,
                ycbcr_db,
            })?;
        }
    }
    Ok(String::from_utf8(writer.into_inner().context("the table cannot be made")?)?)
}

fn describe(report: &Report) -> String {
    use std::fmt::Write;
    let Report { video, width, height, frames, frames_per_second, encode_frames_per_second, .. } = report;
    let mut text = format!(
        "{video}: {width}x{height}, {frames} frames, {frames_per_second} frames/s; encoded once, {encode_frames_per_second} \
         frames/s\n\n     kbit/s      bytes     Y dB   least   jump  6:1:1 dB   least   jump  alone, Y dB    decode\n"
    );
    for row in &report.rates {
        let _ = writeln!(
            text,
            "{:>11.1} {:>10}  {:>7.2} {:>7.2} {:>6.2}  {:>8.2} {:>7.2} {:>6.2}  {:>11.2}  {:>5.0} frames/s",
            row.used_kbps,
            row.bytes,
            row.luma_db,
            row.luma_least_db,
            row.luma_jump_db,
            row.ycbcr_db,
            row.ycbcr_least_db,
            row.ycbcr_jump_db,
            row.intra_luma_db,
            row.decode_frames_per_second
        );
    }
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1} %"));
    let (y, all) = (percent(report.bd_rate_luma), percent(report.bd_rate_ycbcr));
    let _ = writeln!(text, "\nBD-rate against each frame alone: {y} by luma, {all} by YCbCr 6:1:1");
    text
}
