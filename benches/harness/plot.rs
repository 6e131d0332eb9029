//! Line charts as SVG: as much as a rate-distortion plot needs and no more.

use std::fmt::Write;

/// A chart of curves over linear axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// What runs to the right, with its unit.
    pub x_label: String,
    /// What runs upwards, with its unit.
    pub y_label: String,
    /// The range of x; the range of y follows from the points within.
    pub x_range: (f64, f64),
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub weight: Weight,
}

/// How much a curve stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Ours: thick.
    Strong,
    /// Measured here: thin with a dot at every point.
    Plain,
    /// Published: thin and dashed.
    Faint,
}

/// The plot area in pixels: its left, top, right and bottom edge; the legend lies to its right.
const AREA: (f64, f64, f64, f64) = (64.0, 44.0, 704.0, 524.0);
const SIZE: (f64, f64) = (960.0, 580.0);

/// Lines of the legend, pixels from one to the next.
const LEGEND_STEP: f64 = 20.0;

/// Wanted number of grid lines an axis; the real number is within a factor of two.
const GRID_LINES: f64 = 8.0;

/// Colours of the strong curves.
const STRONG_COLOURS: [&str; 3] = ["#000000", "#c00000", "#0000c0"];

/// Colours of the others, apart for the colour-blind (Okabe and Ito; grey and brown for their yellow and black).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"];

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        let scale = Scale::new(self);
        let mut out = String::new();
        let (width, height) = SIZE;
        line(
            &mut out,
            format_args!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">"#
            ),
        );
        line(&mut out, format_args!(r#"<rect width="{width}" height="{height}" fill="white"/>"#));
        self.axes(&mut out, &scale);
        let (left, top, right, bottom) = AREA;
        line(
            &mut out,
            format_args!(
                r#"<clipPath id="area"><rect x="{left}" y="{top}" width="{}" height="{}"/></clipPath>"#,
                right - left,
                bottom - top
            ),
        );
        for (n, curve) in self.curves.iter().enumerate() {
            let colour = self.colour(n);
            draw(&mut out, &scale, curve, colour);
            legend(&mut out, n, curve, colour);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Colours start anew for each weight, which tells two curves of one colour apart.
    fn colour(&self, n: usize) -> &'static str {
        let weight = self.curves[n].weight;
        let alike = self.curves[..n].iter().filter(|curve| curve.weight == weight).count();
        match weight {
            Weight::Strong => STRONG_COLOURS[alike % STRONG_COLOURS.len()],
            Weight::Plain | Weight::Faint => COLOURS[alike % COLOURS.len()],
        }
    }

    fn axes(&self, out: &mut String, scale: &Scale) {
        let (left, top, right, bottom) = AREA;
        for (x, label) in ticks(scale.x) {
            let x = scale.across(x);
            line(out, format_args!(r##"<path d="M{x:.1} {top}V{bottom}" stroke="#ddd"/>"##));
            line(out, format_args!(r#"<text x="{x:.1}" y="{}" text-anchor="middle">{label}</text>"#, bottom + 18.0));
        }
        for (y, label) in ticks(scale.y) {
            let y = scale.up(y);
            line(out, format_args!(r##"<path d="M{left} {y:.1}H{right}" stroke="#ddd"/>"##));
            line(out, format_args!(r#"<text x="{}" y="{:.1}" text-anchor="end">{label}</text>"#, left - 7.0, y + 4.5));
        }
        let (middle_x, middle_y) = ((left + right) / 2.0, (top + bottom) / 2.0);
        let [title, x_label, y_label] = [&self.title, &self.x_label, &self.y_label].map(|text| escaped(text));
        line(out, format_args!(r##"<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#333"/>"##));
        line(out, format_args!(r#"<text x="{left}" y="26" font-size="17" font-weight="bold">{title}</text>"#));
        line(out, format_args!(r#"<text x="{middle_x}" y="{}" text-anchor="middle">{x_label}</text>"#, bottom + 42.0));
        line(
            out,
            format_args!(
                r#"<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">{y_label}</text>"#
            ),
        );
    }
}

/// From values to pixels.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn new(chart: &Chart) -> Self {
        let (low, high) = chart.x_range;
        let shown = chart.curves.iter().flat_map(|curve| &curve.points).filter(|(x, _)| (low..=high).contains(x));
        let (min, max) = shown
            .map(|&(_, y)| y)
            .filter(|y| y.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), y| (min.min(y), max.max(y)));
        let y = if min < max { (min.floor(), max.ceil()) } else { (0.0, 1.0) };
        Self { x: chart.x_range, y }
    }

    fn across(&self, x: f64) -> f64 {
        AREA.0 + (x - self.x.0) / (self.x.1 - self.x.0) * (AREA.2 - AREA.0)
    }

    fn up(&self, y: f64) -> f64 {
        AREA.3 - (y - self.y.0) / (self.y.1 - self.y.0) * (AREA.3 - AREA.1)
    }
}

/// Round values within a range (steps of 1, 2 or 5 times a power of ten), with their labels.
fn ticks((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let rough = (high - low) / GRID_LINES;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.999 * rough).unwrap_or(10.0);
    let step = factor * power;
    let decimals = if step >= 1.0 { 0 } else { if step >= 0.1 { 1 } else { 2 } };
    let first = (low / step - 1e-9).ceil();
    let values = (0..).map(|n| (first + f64::from(n)) * step).take_while(|value| *value <= high + 1e-9 * step);
    values.map(|value| (value, format!("{value:.decimals$}"))).collect()
}

fn draw(out: &mut String, scale: &Scale, curve: &Curve, colour: &str) {
    let mut points: Vec<(f64, f64)> = curve.points.iter().copied().filter(|(_, y)| y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pixels: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (scale.across(x), scale.up(y))).collect();
    let path: Vec<String> = pixels.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    line(
        out,
        format_args!(
            r#"<polyline points="{}" clip-path="url(#area)" {}/>"#,
            path.join(" "),
            stroke(curve.weight, colour)
        ),
    );
    if curve.weight == Weight::Plain {
        for (x, y) in pixels {
            line(
                out,
                format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}" clip-path="url(#area)"/>"#),
            );
        }
    }
}

fn legend(out: &mut String, n: usize, curve: &Curve, colour: &str) {
    let (x, y) = (AREA.2 + 18.0, AREA.1 + 8.0 + LEGEND_STEP * n as f64);
    line(out, format_args!(r#"<path d="M{x} {y}h30" {}/>"#, stroke(curve.weight, colour)));
    line(out, format_args!(r#"<text x="{}" y="{}">{}</text>"#, x + 38.0, y + 4.5, escaped(&curve.name)));
}

fn stroke(weight: Weight, colour: &str) -> String {
    let style = match weight {
        Weight::Strong => r#"stroke-width="3.5""#,
        Weight::Plain => r#"stroke-width="1.5""#,
        Weight::Faint => r#"stroke-width="1.5" stroke-dasharray="6 4""#,
    };
    format!(r#"fill="none" stroke="{colour}" {style}"#)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(range: (f64, f64)) -> Vec<String> {
        ticks(range).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(values((0.0, 1.6)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6"]);
        assert_eq!(values((23.0, 39.0)), ["24", "26", "28", "30", "32", "34", "36", "38"]);
    }

    #[test]
    fn points_land_where_the_axes_say() {
        let points = vec![(0.0, 20.0), (1.0, 30.0), (2.0, f64::INFINITY)];
        let curve = Curve { name: "a < b".to_owned(), points, weight: Weight::Plain };
        let (title, x_label, y_label) = ("t".to_owned(), "x".to_owned(), "y".to_owned());
        let svg = Chart { title, x_label, y_label, x_range: (0.0, 1.0), curves: vec![curve] }.svg();
        assert!(svg.contains(r#"points="64.0,524.0 704.0,44.0""#), "{svg}");
        assert!(svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
