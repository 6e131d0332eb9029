//! Quality over rate as inline SVG; colours and letters come from the page's style sheet.

use std::fmt::Write;

use super::measure::{Curve, Report};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 52.0;
/// Room for the curves' names.
const RIGHT: f64 = 72.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
/// Least distance of two names, in the drawing's units.
const NAME_HEIGHT: f64 = 18.0;
/// Room for the label of a cut.
const LABEL_WIDTH: f64 = 36.0;
const MAX_BPP: f64 = 1.5;

/// The range of quality that is drawn, in dB, in whole steps.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    fn new(curves: &[Curve]) -> Self {
        let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        if low > high {
            return Self { low: 20.0, high: 40.0, step: 5.0 };
        }
        let step = if high - low > 25.0 { 5.0 } else { 2.0 };
        let low = (low / step).floor() * step;
        Self { low, high: ((high / step).ceil() * step).max(low + step), step }
    }

    fn x(bpp: f64) -> f64 {
        LEFT + bpp / MAX_BPP * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, quality: f64) -> f64 {
        HEIGHT - BOTTOM - (quality - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)
    }
}

pub(super) fn draw(report: &Report) -> String {
    let scale = Scale::new(&report.curves);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"PSNR over bits per pixel of {}\">\n",
        report.columns.join(", ")
    );
    axes(&mut svg, &scale);
    cuts(&mut svg, report);
    for curve in &report.curves {
        let points: Vec<String> = curve
            .points
            .iter()
            .map(|&(bpp, quality)| format!("{:.1},{:.1}", Scale::x(bpp), scale.y(quality)))
            .collect();
        let _ = writeln!(svg, "<polyline class=\"{}\" points=\"{}\"/>", curve.name, points.join(" "));
    }
    names(&mut svg, &scale, &report.curves);
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, scale: &Scale) {
    let (right, base) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut quality = scale.low;
    while quality <= scale.high + 1e-9 {
        let y = scale.y(quality);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{}\" y=\"{:.1}\" class=\"end\">{quality:.0}</text>",
            LEFT - 8.0,
            y + 4.0
        );
        quality += scale.step;
    }
    for tenth in [0, 3, 6, 9, 12, 15] {
        let bpp = f64::from(tenth) / 10.0;
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{}\" class=\"mid\">{bpp}</text>", Scale::x(bpp), base + 20.0);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"16\" class=\"end title\">dB</text><text x=\"{right}\" y=\"{}\" class=\"end title\">bits per pixel</text>",
        LEFT - 8.0,
        HEIGHT - 8.0
    );
}

/// Where the page's pictures are cut; of two labels that would overlap the first stays.
fn cuts(svg: &mut String, report: &Report) {
    let mut free = 0.0;
    for row in report.rows.iter().filter(|row| row.bpp <= MAX_BPP) {
        let x = Scale::x(row.bpp);
        let _ = writeln!(svg, "<path class=\"cut\" d=\"M{x:.1} {TOP}V{}\"/>", HEIGHT - BOTTOM);
        if x >= free {
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" class=\"mid cut\">{} %</text>", TOP - 6.0, row.percent);
            free = x + LABEL_WIDTH;
        }
    }
}

/// Each curve's name at its end, moved apart where ends are close.
fn names(svg: &mut String, scale: &Scale, curves: &[Curve]) {
    let mut ends: Vec<(f64, f64, &str)> = curves
        .iter()
        .filter_map(|curve| curve.points.last().map(|&(bpp, quality)| (scale.y(quality), Scale::x(bpp), curve.name)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for (y, x, name) in ends {
        let y = y.max(above + NAME_HEIGHT);
        above = y;
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"name {name}\">{name}</text>", x + 8.0, y + 4.0);
    }
}
