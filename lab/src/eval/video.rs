//! A video at five rates: encoded once, decoded as the receivers of these rates would.

use anyhow::Result;
use nestcast_codec::{Bitrate, FrameRate, Size};
use serde::Serialize;

use crate::rate_distortion::rounded;
use crate::video::{Frame, Measured, Run, kbps};

/// The number of rates.
const RATE_COUNT: u32 = 5;

/// The measurements of a video at all rates.
#[derive(Debug, Serialize)]
pub struct Report {
    video: String,
    width: usize,
    height: usize,
    frames: usize,
    frames_per_second: f64,
    encode_frames_per_second: f64,
    rates: Vec<Row>,
    /// BD-rate against coding every frame alone, in percent.
    bd_rate_luma: Option<f64>,
    bd_rate_ycbcr: Option<f64>,
}

/// One rate.
#[derive(Debug, Serialize)]
pub struct Row {
    kbps: f64,
    used_kbps: f64,
    bytes: usize,
    luma_db: f64,
    luma_least_db: f64,
    luma_jump_db: f64,
    ycbcr_db: f64,
    ycbcr_least_db: f64,
    ycbcr_jump_db: f64,
    intra_luma_db: f64,
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

/// Returns rates from `least` to `most`, each the same factor above the one before.
#[must_use]
pub fn rates([least, most]: [Bitrate; 2]) -> Vec<Bitrate> {
    let [least, most] = [least, most].map(|rate| rate.bits() as f64);
    let rate = |number: u32| least * (most / least).powf(f64::from(number) / f64::from(RATE_COUNT - 1));
    (0..RATE_COUNT).map(|number| Bitrate::rounded(rate(number))).collect()
}

impl Report {
    /// Takes the name and shape of the video.
    #[must_use]
    pub fn new(video: &str, size: Size, rate: FrameRate, measured: &Measured) -> Self {
        let frames = measured.video[0].frames.len();
        let percent = |db| measured.bd_rate(db).map(|percent| rounded(percent, 2));
        Self {
            video: video.to_owned(),
            width: size.width(),
            height: size.height(),
            frames,
            frames_per_second: rounded(rate.per_second(), 3),
            encode_frames_per_second: rounded(frames as f64 / measured.encode.as_secs_f64(), 1),
            rates: measured.video.iter().zip(&measured.intra).map(|(run, intra)| Row::new(run, intra, rate)).collect(),
            bd_rate_luma: percent(luma as fn(&Frame) -> f64),
            bd_rate_ycbcr: percent(ycbcr),
        }
    }

    /// Formats the figures as lines of text.
    #[must_use]
    pub fn table(&self) -> String {
        use std::fmt::Write;
        let Self { video, width, height, frames, frames_per_second, encode_frames_per_second, .. } = self;
        let mut text = format!(
            "{video}: {width}x{height}, {frames} frames, {frames_per_second} frames/s; encoded once, {encode_frames_per_second} \
         frames/s\n\n     kbit/s      bytes     Y dB   least   jump  6:1:1 dB   least   jump  alone, Y dB    decode\n"
        );
        for row in &self.rates {
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
        let y = percent(self.bd_rate_luma);
        let all = percent(self.bd_rate_ycbcr);
        let _ = writeln!(text, "\nBD-rate against each frame alone: {y} by luma, {all} by YCbCr 6:1:1");
        if self.bd_rate_luma.is_none() || self.bd_rate_ycbcr.is_none() {
            let _ = writeln!(
                text,
                "-: the two curves have no quality in common; --bitrates further apart may give them one"
            );
        }
        text
    }

    /// Draws PSNR over rate, as SVG.
    ///
    /// # Errors
    /// If it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn chart(&self) -> Result<String> {
        use crate::plot::{Axis, Chart, Curve, Stroke, shown};
        let curve = |name: &str, stroke, db: fn(&Row) -> f64| Curve {
            name: name.to_owned(),
            points: self.rates.iter().map(|row| (row.kbps, db(row))).collect(),
            stroke: Stroke { dots: true, ..stroke },
            labels: Vec::new(),
        };
        let curves = vec![
            curve("luma", Stroke::strong(0), |row| row.luma_db),
            curve("YCbCr 6:1:1", Stroke::dashed(0), |row| row.ycbcr_db),
            curve("luma, each frame alone", Stroke::dashed(2), |row| row.intra_luma_db),
        ];
        let ends = (self.rates[0].kbps, self.rates[self.rates.len() - 1].kbps * 1.001);
        let y = Axis::fitting("PSNR, dB", shown(&curves, ends));
        let title = format!("{}: one file at five bit rates", self.video);
        Chart { title, x: Axis::log("kbit/s", ends), y, marks: Vec::new(), curves }.svg()
    }
}

impl Row {
    fn new(run: &Run, intra: &Run, rate: FrameRate) -> Self {
        let [y, all, alone] = [run.summary(luma), run.summary(ycbcr), intra.summary(luma)];
        let db = |value| rounded(value, 3);
        let frames = run.frames.len();
        Self {
            kbps: rounded(run.rate.bits() as f64 / 1e3, 2),
            used_kbps: rounded(kbps(run.bytes() as u64, frames as u64, rate), 2),
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

/// Formats a line for each frame at each rate, as CSV.
///
/// # Errors
/// As [`csv`](super::csv).
pub fn frames(measured: &Measured) -> Result<String> {
    let mut rows = Vec::new();
    for run in &measured.video {
        for (frame, of) in run.frames.iter().enumerate() {
            let [luma_db, ycbcr_db] = [of.luma_db, of.ycbcr_db].map(|db| rounded(db, 3));
            rows.push(FrameRow {
                kbps: rounded(run.rate.bits() as f64 / 1e3, 2),
                frame,
                bytes: of.bytes,
                luma_db,
                ycbcr_db,
            });
        }
    }
    super::csv(&rows)
}

fn luma(frame: &Frame) -> f64 {
    frame.luma_db
}

fn ycbcr(frame: &Frame) -> f64 {
    frame.ycbcr_db
}
