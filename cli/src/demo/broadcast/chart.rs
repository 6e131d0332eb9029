//! Bitrate and quality over time as inline SVG; colours come from the page's style sheet.

use std::fmt::Write;

use super::air::{FALL, SECONDS};
use super::measure::{Column, Row};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
/// Room for the names of the curves.
const RIGHT: f64 = 96.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 40.0;
/// Points a second: fewer than frames, so that the curves are calm.
const POINTS: f64 = 4.0;
/// Least distance of two names.
const NAME_HEIGHT: f64 = 17.0;

/// A value's place between the bottom and the top, 0 to 1.
type Scale<'a> = &'a dyn Fn(f64) -> f64;

/// Payload over time on a logarithmic axis, above it the links' rates.
pub(super) fn bitrate(columns: &[Column]) -> String {
    const LEAST: f64 = 100.0;
    const MOST: f64 = 6000.0;
    let scale = |kbits: f64| (kbits.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    let mut svg = begin("Payload over time for each receiver", "kbit/s");
    for (value, label) in [(100.0, "100"), (300.0, "300"), (1000.0, "1000"), (4000.0, "4000")] {
        grid(&mut svg, &scale, value, label);
    }
    let mut names = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let rate = |seconds: f64| column.link.rate(std::time::Duration::from_secs_f64(seconds)) as f64 / 1000.0;
        let steps = (0..=SECONDS * 20).map(|step| f64::from(step) / 20.0).map(|seconds| (seconds, rate(seconds)));
        line(&mut svg, &scale, steps, "link");
        let seconds_of_point = 1.0 / POINTS;
        let payload = points(&column.rows, |rows| {
            rows.iter().map(|row| row.bytes).sum::<usize>() as f64 * 8.0 / 1000.0 / seconds_of_point
        });
        let end = payload.last().map_or(0.0, |point| point.1);
        line(&mut svg, &scale, payload.into_iter(), &format!("r{place}"));
        names.push((y(&scale, end), format!("r{place}"), column.name));
    }
    finish(svg, names)
}

/// PSNR over time, that of JPEG with the same bytes dashed.
pub(super) fn quality(columns: &[Column]) -> String {
    let values = || columns.iter().flat_map(|column| &column.rows).filter(|row| row.seconds >= 0.5);
    let all = || values().flat_map(|row| [Some(row.psnr), row.jpeg.map(|(_, psnr)| psnr)]).flatten();
    let low = (all().fold(f64::INFINITY, f64::min) / 5.0).floor() * 5.0;
    let high = ((all().fold(0.0, f64::max) / 5.0).ceil() * 5.0).max(low + 5.0);
    let scale = move |psnr: f64| ((psnr - low) / (high - low)).clamp(0.0, 1.0);
    let mut svg = begin("PSNR over time for each receiver, and that of JPEG with the same bytes", "dB");
    let mut value = low;
    while value <= high {
        grid(&mut svg, &scale, value, &format!("{value:.0}"));
        value += 5.0;
    }
    let mut names = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let ours = points(&column.rows, |rows| mean(rows.iter().map(|row| row.psnr).collect()));
        let jpeg = points(&column.rows, |rows| mean(rows.iter().filter_map(|row| Some(row.jpeg?.1)).collect()));
        let end = ours.last().map_or(0.0, |point| point.1);
        line(&mut svg, &scale, jpeg.into_iter(), &format!("r{place} rival"));
        line(&mut svg, &scale, ours.into_iter(), &format!("r{place}"));
        names.push((y(&scale, end), format!("r{place}"), column.name));
    }
    finish(svg, names)
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

fn x(seconds: f64) -> f64 {
    LEFT + seconds / f64::from(SECONDS) * (WIDTH - LEFT - RIGHT)
}

fn y(scale: Scale<'_>, value: f64) -> f64 {
    HEIGHT - BOTTOM - scale(value) * (HEIGHT - TOP - BOTTOM)
}

fn begin(what: &str, unit: &str) -> String {
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{what}\">\n");
    let (from, to) = (x(FALL.0 as f64), x(FALL.1 as f64));
    let _ = writeln!(
        svg,
        "<rect class=\"fall\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\"/>\
         <text class=\"mid\" x=\"{:.1}\" y=\"{}\">the fastest link falls to 1 Mbit/s</text>\
         <text class=\"end title\" x=\"{}\" y=\"16\">{unit}</text>",
        to - from,
        HEIGHT - TOP - BOTTOM,
        (from + to) / 2.0,
        TOP - 8.0,
        LEFT - 8.0
    );
    for second in (0..=SECONDS).step_by(2) {
        let _ = writeln!(
            svg,
            "<text class=\"mid\" x=\"{:.1}\" y=\"{}\">{second}{}</text>",
            x(f64::from(second)),
            HEIGHT - BOTTOM + 20.0,
            if second == SECONDS { " s" } else { "" }
        );
    }
    svg
}

fn grid(svg: &mut String, scale: Scale<'_>, value: f64, label: &str) {
    let y = y(scale, value);
    let _ = writeln!(
        svg,
        "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text class=\"end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
        WIDTH - RIGHT,
        LEFT - 8.0,
        y + 4.0
    );
}

/// A line for each run of points that are numbers.
fn line(svg: &mut String, scale: Scale<'_>, points: impl Iterator<Item = (f64, f64)>, class: &str) {
    let points: Vec<(f64, f64)> = points.collect();
    for run in points.split(|(_, value)| !value.is_finite()).filter(|run| !run.is_empty()) {
        let places: Vec<String> =
            run.iter().map(|(seconds, value)| format!("{:.1},{:.1}", x(*seconds), y(scale, *value))).collect();
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", places.join(" "));
    }
}

/// Each curve's name at its end, moved apart where ends are close.
fn finish(mut svg: String, mut names: Vec<(f64, String, &str)>) -> String {
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for (y, class, name) in names {
        above = y.max(above + NAME_HEIGHT);
        let _ = writeln!(
            svg,
            "<text class=\"name {class}\" x=\"{}\" y=\"{:.1}\">{name}</text>",
            WIDTH - RIGHT + 8.0,
            above + 4.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}
