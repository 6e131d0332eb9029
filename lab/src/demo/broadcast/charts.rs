//! Bitrate, quality and latency over time.

use std::time::Duration;

use super::measure::Column;
use super::row::Row;
use super::schedule::{FALL_SECONDS, LENGTH_SECONDS};
use crate::plot::{Axis, Chart, Curve, Mark, Pattern, Stroke, shown};

/// Points a second: fewer than frames, so that the curves are smooth.
const POINTS_PER_SECOND: f64 = 4.0;
/// The first half second does not count for the range of quality, because the sender has not found the rate yet.
const SETTLED_SECONDS: f64 = 0.5;
/// The range of the bitrate axis, in kbit/s.
const BITRATE_RANGE_KBITS: (f64, f64) = (100.0, 6000.0);
/// The range of the latency axis, in ms.
const LATENCY_RANGE_MS: (f64, f64) = (0.0, 250.0);
/// Colours of the receivers, slowest first.
const RECEIVER_COLOURS: [usize; 3] = [1, 4, 5];
const GREY_COLOUR: usize = 2;

/// Returns one codec's PSNR of a frame, in dB.
type Psnr = fn(&Row) -> Option<f64>;

/// Draws payload over time, and the links' rates above it.
pub(super) fn bitrate(columns: &[Column]) -> Chart {
    let mut curves = Vec::new();
    for (column, colour) in columns.iter().zip(RECEIVER_COLOURS) {
        let payload = points(&column.rows, |rows| {
            rows.iter().map(|row| row.bytes).sum::<usize>() as f64 * 8.0 / 1000.0 * POINTS_PER_SECOND
        });
        curves.push(curve(column.name, payload, Stroke::strong(colour)));
    }
    for (number, column) in columns.iter().enumerate() {
        let rate = |seconds: f64| column.link.rate(Duration::from_secs_f64(seconds)) as f64 / 1000.0;
        let steps =
            (0..=LENGTH_SECONDS * 20).map(|step| f64::from(step) / 20.0).map(|seconds| (seconds, rate(seconds)));
        let name = if number == 0 { "the links" } else { "" };
        curves.push(curve(name, steps.collect(), Stroke::dashed(GREY_COLOUR)));
    }
    chart("Payload over time", Axis::log("kbit/s", BITRATE_RANGE_KBITS), curves)
}

/// Draws PSNR over time: nestcast solid, x264 dashed, JPEG of the same bytes dotted.
pub(super) fn quality(columns: &[Column]) -> Chart {
    let kinds: [(&str, Pattern, Psnr); 3] = [
        ("", Pattern::Solid, |row| Some(row.psnr)),
        (", x264", Pattern::Dashed, |row| row.x264),
        (", JPEG", Pattern::Dotted, |row| Some(row.jpeg?.1)),
    ];
    let mut curves = Vec::new();
    for (kind, pattern, value) in kinds {
        for (column, colour) in columns.iter().zip(RECEIVER_COLOURS) {
            let psnr = points(&column.rows, |rows| mean(rows.iter().filter_map(|row| value(row))));
            if psnr.iter().any(|point| point.1.is_finite()) {
                let stroke = Stroke { pattern, strong: pattern == Pattern::Solid, ..Stroke::dashed(colour) };
                curves.push(curve(&format!("{}{kind}", column.name), psnr, stroke));
            }
        }
    }
    let y = Axis::fitting("PSNR of luma (dB)", shown(&curves, (SETTLED_SECONDS, f64::from(LENGTH_SECONDS))));
    chart("Quality over time", y, curves)
}

/// Draws latency over time.
pub(super) fn latency(columns: &[Column]) -> Chart {
    let of =
        |column: &Column| points(&column.rows, |rows| mean(rows.iter().map(|row| row.latency.as_secs_f64() * 1e3)));
    let curves = columns
        .iter()
        .zip(RECEIVER_COLOURS)
        .map(|(column, colour)| curve(column.name, of(column), Stroke::strong(colour)));
    chart("Latency over time", Axis::linear("ms", LATENCY_RANGE_MS), curves.collect())
}

fn chart(title: &str, y: Axis, curves: Vec<Curve>) -> Chart {
    let range = (FALL_SECONDS.0 as f64, FALL_SECONDS.1 as f64);
    let marks = vec![Mark { range, label: "the fastest link falls to 1 Mbit/s".to_owned() }];
    Chart { title: title.to_owned(), x: Axis::linear("seconds", (0.0, f64::from(LENGTH_SECONDS))), y, marks, curves }
}

fn curve(name: &str, points: Vec<(f64, f64)>, stroke: Stroke) -> Curve {
    Curve { name: name.to_owned(), points, stroke, labels: Vec::new() }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns one value for each part of a second in which a frame was shown; a value that is no number is a gap.
fn points(rows: &[Row], value: impl Fn(&[&Row]) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for part in 0..LENGTH_SECONDS * 4 {
        let from = f64::from(part) / POINTS_PER_SECOND;
        let within: Vec<&Row> =
            rows.iter().filter(|row| row.seconds >= from && row.seconds < from + 1.0 / POINTS_PER_SECOND).collect();
        if !within.is_empty() {
            points.push((from + 0.5 / POINTS_PER_SECOND, value(&within)));
        }
    }
    points
}
