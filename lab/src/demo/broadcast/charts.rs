//! Bitrate and quality over time.

use std::time::Duration;

use super::air::{FALL, SECONDS};
use super::measure::{Column, Row};
use crate::plot::{Axis, Chart, Curve, Mark, Stroke, shown};

/// Points a second: fewer than frames, so that the curves are calm.
const POINTS: f64 = 4.0;
/// The first half second is left out of the range of quality: the rate is not found yet.
const SETTLED: f64 = 0.5;
/// What the axis of bitrate shows, in kbit/s.
const KBITS: (f64, f64) = (100.0, 6000.0);
/// Colours of the receivers, slowest first.
const COLOURS: [usize; 3] = [1, 4, 5];
const GREY: usize = 2;

/// Payload over time, and above it the links' rates.
pub(super) fn bitrate(columns: &[Column]) -> Chart {
    let mut curves = Vec::new();
    for (column, colour) in columns.iter().zip(COLOURS) {
        let payload =
            points(&column.rows, |rows| rows.iter().map(|row| row.bytes).sum::<usize>() as f64 * 8.0 / 1000.0 * POINTS);
        curves.push(curve(column.name, payload, Stroke::strong(colour)));
    }
    for (number, column) in columns.iter().enumerate() {
        let rate = |seconds: f64| column.link.rate(Duration::from_secs_f64(seconds)) as f64 / 1000.0;
        let steps = (0..=SECONDS * 20).map(|step| f64::from(step) / 20.0).map(|seconds| (seconds, rate(seconds)));
        let name = if number == 0 { "the links" } else { "" };
        curves.push(curve(name, steps.collect(), Stroke::dashed(GREY)));
    }
    chart("Payload over time", Axis::log("kbit/s", KBITS), curves)
}

/// PSNR over time, that of JPEG with the same bytes dashed.
pub(super) fn quality(columns: &[Column]) -> Chart {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (column, colour) in columns.iter().zip(COLOURS) {
        let psnr = points(&column.rows, |rows| mean(rows.iter().map(|row| row.psnr).collect()));
        let jpeg = points(&column.rows, |rows| mean(rows.iter().filter_map(|row| Some(row.jpeg?.1)).collect()));
        ours.push(curve(column.name, psnr, Stroke::strong(colour)));
        theirs.push(curve(&format!("{}, JPEG", column.name), jpeg, Stroke::dashed(colour)));
    }
    ours.extend(theirs);
    let y = Axis::fitting("RGB PSNR (dB)", shown(&ours, (SETTLED, f64::from(SECONDS))));
    chart("Quality over time", y, ours)
}

fn chart(title: &str, y: Axis, curves: Vec<Curve>) -> Chart {
    let range = (FALL.0 as f64, FALL.1 as f64);
    let marks = vec![Mark { range, label: "the fastest link falls to 1 Mbit/s".to_owned() }];
    Chart { title: title.to_owned(), x: Axis::linear("seconds", (0.0, f64::from(SECONDS))), y, marks, curves }
}

fn curve(name: &str, points: Vec<(f64, f64)>, stroke: Stroke) -> Curve {
    Curve { name: name.to_owned(), points, stroke, labels: Vec::new() }
}

/// One value for each part of a second in which something was seen; a value that is no number is a gap.
fn points(rows: &[Row], value: impl Fn(&[&Row]) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for part in 0..SECONDS * 4 {
        let from = f64::from(part) / POINTS;
        let within: Vec<&Row> =
            rows.iter().filter(|row| row.seconds >= from && row.seconds < from + 1.0 / POINTS).collect();
        if !within.is_empty() {
            points.push((from + 0.5 / POINTS, value(&within)));
        }
    }
    points
}
