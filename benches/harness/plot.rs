//! Line charts as SVG, in light and dark by what the reader's system prefers.

use std::fmt::Write;

/// A chart of curves.
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
    /// Whether x grows by factors instead of steps.
    pub x_log: bool,
    /// Where the range of y begins, if not at the lowest point; what is lower is cut off.
    pub y_from: Option<f64>,
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
    pub look: Look,
    /// What is written at its points, as many as there are labels.
    pub labels: Vec<String>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Place in [`COLOURS`].
    pub colour: usize,
    /// Thick.
    pub strong: bool,
    /// The pattern of its line.
    pub line: Line,
    /// A dot at every point.
    pub dots: bool,
}

/// The pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Unbroken.
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
}

/// Colours on light and on dark paper.
pub const COLOURS: [(&str, &str); 9] = [
    ("#c2185b", "#ff6b9d"),
    ("#e65100", "#ffa15c"),
    ("#77777d", "#a8a8b0"),
    ("#2e7d32", "#7bd17f"),
    ("#6a3fb5", "#b59bff"),
    ("#0277bd", "#5cc0ff"),
    ("#8d6e00", "#e3c14a"),
    ("#00796b", "#55d0c0"),
    ("#37373b", "#e4e4e8"),
];

/// The plot area in pixels: its left, top, right and bottom edge; the legend lies to its right.
const AREA: (f64, f64, f64, f64) = (60.0, 52.0, 690.0, 500.0);
/// Width, and height unless the legend needs more.
const SIZE: (f64, f64) = (940.0, 556.0);

/// Lines of the legend, pixels from one to the next.
const LEGEND_STEP: f64 = 21.0;

/// Wanted number of grid lines an axis; the real number is within a factor of two.
const GRID_LINES: f64 = 8.0;

/// Air above and below the points, as a part of their range.
const AIR: f64 = 0.06;

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        let scale = Scale::new(self);
        let mut out = String::new();
        let width = SIZE.0;
        let height = SIZE.1.max(AREA.1 + LEGEND_STEP * self.curves.len() as f64 + 24.0);
        line(
            &mut out,
            format_args!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{}" font-family="system-ui, sans-serif" font-size="13">"#,
                escaped(&self.title)
            ),
        );
        line(&mut out, format_args!("<style>{}</style>", style()));
        line(&mut out, format_args!(r#"<g class="plot"><rect class="paper" width="{width}" height="{height}"/>"#));
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
        for (n, curve) in self.curves.iter().enumerate().rev() {
            draw(&mut out, &scale, curve);
            legend(&mut out, n, curve);
        }
        out.push_str("</g></svg>\n");
        out
    }

    fn axes(&self, out: &mut String, scale: &Scale) {
        let (left, top, right, bottom) = AREA;
        let across = if self.x_log { doublings(scale.x) } else { ticks(scale.x) };
        for (x, label) in across {
            let x = scale.across(x);
            line(out, format_args!(r#"<path class="grid" d="M{x:.1} {top}V{bottom}"/>"#));
            line(
                out,
                format_args!(
                    r#"<text class="faint" x="{x:.1}" y="{}" text-anchor="middle">{label}</text>"#,
                    bottom + 18.0
                ),
            );
        }
        for (y, label) in ticks(scale.y) {
            let y = scale.up(y);
            line(out, format_args!(r#"<path class="grid" d="M{left} {y:.1}H{right}"/>"#));
            line(
                out,
                format_args!(
                    r#"<text class="faint" x="{}" y="{:.1}" text-anchor="end">{label}</text>"#,
                    left - 8.0,
                    y + 4.5
                ),
            );
        }
        let [title, x_label, y_label] = [&self.title, &self.x_label, &self.y_label].map(|text| escaped(text));
        line(out, format_args!(r#"<path class="axis" d="M{left} {bottom}H{right}"/>"#));
        line(out, format_args!(r#"<text class="ink" x="16" y="24" font-size="17" font-weight="600">{title}</text>"#));
        line(
            out,
            format_args!(r#"<text class="faint" x="{right}" y="{}" text-anchor="end">{x_label}</text>"#, bottom + 40.0),
        );
        line(out, format_args!(r#"<text class="faint" x="16" y="{}">{y_label}</text>"#, top - 8.0));
    }
}

/// From values to pixels.
struct Scale {
    x: (f64, f64),
    x_log: bool,
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
        let min = chart.y_from.unwrap_or(min);
        let air = (max - min) * AIR;
        let low = if chart.y_from.is_some() { min } else { min - air };
        let y = if min < max { (low, max + air) } else { (0.0, 1.0) };
        Self { x: chart.x_range, x_log: chart.x_log, y }
    }

    fn across(&self, x: f64) -> f64 {
        let place = |x: f64| if self.x_log { x.ln() } else { x };
        AREA.0 + (place(x) - place(self.x.0)) / (place(self.x.1) - place(self.x.0)) * (AREA.2 - AREA.0)
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

/// 1, 2 and 5 times powers of ten within a range, with their labels.
fn doublings((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let values = (-6..9).flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)));
    let within = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
    within.map(|value| (value, format!("{value}"))).collect()
}

fn draw(out: &mut String, scale: &Scale, curve: &Curve) {
    let mut points: Vec<(f64, f64)> = curve.points.iter().copied().filter(|(_, y)| y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pixels: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (scale.across(x), scale.up(y))).collect();
    let path: Vec<String> = pixels.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let Look { colour, strong, .. } = curve.look;
    line(out, format_args!(r#"<g class="c{colour}">"#));
    line(out, format_args!(r#"<polyline points="{}" clip-path="url(#area)"{}/>"#, path.join(" "), stroke(curve.look)));
    let radius = if strong { 4.5 } else { 2.5 };
    for (n, (x, y)) in pixels.into_iter().enumerate() {
        if curve.look.dots {
            line(out, format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" clip-path="url(#area)"/>"#));
        }
        if let Some(label) = curve.labels.get(n) {
            line(
                out,
                format_args!(r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#, y - 9.0, escaped(label)),
            );
        }
    }
    out.push_str("</g>\n");
}

fn legend(out: &mut String, n: usize, curve: &Curve) {
    let (x, y) = (AREA.2 + 20.0, AREA.1 + 8.0 + LEGEND_STEP * n as f64);
    let Look { colour, strong, dots, .. } = curve.look;
    line(out, format_args!(r#"<g class="c{colour}"><path d="M{x} {y}h28"{}/>"#, stroke(curve.look)));
    if dots {
        let radius = if strong { 4.5 } else { 2.5 };
        line(out, format_args!(r#"<circle cx="{}" cy="{y}" r="{radius}"/>"#, x + 14.0));
    }
    let weight = if strong { r#" font-weight="600""# } else { "" };
    line(
        out,
        format_args!(
            r#"</g><text class="ink" x="{}" y="{}"{weight}>{}</text>"#,
            x + 36.0,
            y + 4.5,
            escaped(&curve.name)
        ),
    );
}

fn stroke(look: Look) -> String {
    let pattern = match look.line {
        Line::Solid => "",
        Line::Dashed => r#" stroke-dasharray="7 4""#,
        Line::Dotted => r#" stroke-dasharray="1.5 4""#,
    };
    format!(r#" stroke-width="{}"{pattern}"#, if look.strong { 3.2 } else { 1.6 })
}

/// Colours by class, so that a chart follows the reader's preference in a page and alone.
fn style() -> String {
    let colours = |dark: bool| {
        COLOURS.iter().enumerate().fold(String::new(), |mut css, (n, (light, night))| {
            let colour = if dark { night } else { light };
            write!(
                css,
                ".plot .c{n}{{stroke:{colour}}}.plot .c{n} circle,.plot .c{n} text{{fill:{colour};stroke:none}}"
            )
            .expect("writing to a string cannot fail");
            css
        })
    };
    format!(
        ".plot polyline,.plot path{{fill:none;stroke-linejoin:round;stroke-linecap:round}}\
         .plot .paper{{fill:#fff}}.plot .ink{{fill:#1c1c1e}}.plot .faint{{fill:#62626a}}\
         .plot .grid{{stroke:#e6e6ea}}.plot .axis{{stroke:#8a8a92}}{}\
         @media (prefers-color-scheme:dark){{.plot .paper{{fill:#17171a}}.plot .ink{{fill:#eeeef2}}\
         .plot .faint{{fill:#a0a0aa}}.plot .grid{{stroke:#2e2e34}}.plot .axis{{stroke:#73737c}}{}}}",
        colours(false),
        colours(true)
    )
}

/// Text as it may stand in SVG and HTML.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
        let labels: Vec<String> = doublings((0.08, 40.0)).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]);
    }

    #[test]
    fn points_land_where_the_axes_say() {
        let points = vec![(0.0, 20.0), (1.0, 30.0), (2.0, f64::INFINITY)];
        let look = Look { colour: 3, strong: false, line: Line::Solid, dots: true };
        let curve = Curve { name: "a < b".to_owned(), points, look, labels: vec!["low".to_owned()] };
        let (title, x_label, y_label) = ("t".to_owned(), "x".to_owned(), "y".to_owned());
        let (x_range, curves) = ((0.0, 1.0), vec![curve]);
        let svg = Chart { title, x_label, y_label, x_range, x_log: false, y_from: None, curves }.svg();
        // Six hundredths of air below and above.
        assert!(svg.contains(r#"points="60.0,476.0 690.0,76.0""#), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains(">low</text>"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }
}
