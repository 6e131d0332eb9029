//! Line charts as SVG: static, without scripts, light or dark as the reader's system prefers.

mod axis;
mod clip;
mod style;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub use self::axis::Axis;
pub use self::style::{CURVE_COLOURS, Pattern, Stroke, variables};
use self::{
    axis::Scale,
    clip::clip,
    style::{Part, sheet},
};

/// A chart of curves.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// Highlighted ranges of x, from left to right.
    pub marks: Vec<Mark>,
    /// The curves, in the order of the legend; the first lies on top.
    pub curves: Vec<Curve>,
}

/// A highlighted range of x; a line where both ends are equal.
#[derive(Clone, Debug)]
pub struct Mark {
    /// First and last x.
    pub range: (f64, f64),
    /// The text above; left out where the mark before is too near.
    pub label: String,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend; an empty name is left out.
    pub name: String,
    /// x and y, by x; a point that is no number is a gap.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Labels of its points; there may be fewer labels than points.
    pub labels: Vec<String>,
}

/// Returns the y of all points of some curves within a range of x.
pub fn shown(curves: &[Curve], x: (f64, f64)) -> impl Iterator<Item = f64> {
    let points = curves.iter().flat_map(|curve| &curve.points);
    points.filter(move |point| (x.0..=x.1).contains(&point.0)).map(|point| point.1)
}

// Plotters counts whole pixels, so a drawing has twice the pixels of its size on the page.

/// Width of a drawing.
const WIDTH_PIXELS: u32 = 1880;
/// Height of a drawing, unless the legend needs more.
const HEIGHT_PIXELS: u32 = 1112;
/// The left edge of the legend.
const LEGEND_PIXELS: i32 = 1410;
/// The distance between lines of the legend.
const LEGEND_STEP: u32 = 42;
/// The room above the plot, for the title and the texts of marks.
const TOP_PIXELS: u32 = 112;
/// The room for an axis's name and tick labels of [`SHORT_LABEL`] letters.
const LABEL_PIXELS: u32 = 100;
const SHORT_LABEL: u32 = 3;
/// The room for each further letter of a label at the y axis.
const LETTER_PIXELS: u32 = 17;
/// The room between texts and the drawing's edges.
const MARGIN_PIXELS: i32 = 32;
/// The least distance between two marks that both have a label.
const MARK_STEP: i32 = 72;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

impl Chart {
    /// Returns the chart as an SVG document, which may also be an element of a page.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String> {
        let legend = LEGEND_STEP * u32::try_from(self.curves.len())?;
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (WIDTH_PIXELS, HEIGHT_PIXELS.max(TOP_PIXELS + legend)))
            .into_drawing_area();
        self.draw(&root)?;
        root.present()?;
        drop(root);
        let sheet = sheet(self.curves.iter().map(|curve| curve.stroke));
        Ok(svg.replacen(">\n", &format!(">\n<style>{sheet}</style>\n"), 1))
    }

    fn draw(&self, root: &Area<'_>) -> Result<()> {
        root.fill(&Part::Paper.colour())?;
        root.draw_text(&self.title, &title(), (MARGIN_PIXELS, 20))?;
        let (width, height) = root.dim_in_pixel();
        let y = Scale::from(&self.y);
        let letters = u32::try_from(y.widest())?.saturating_sub(SHORT_LABEL);
        let area = root.clone().shrink((0, 0), (u32::try_from(LEGEND_PIXELS - MARGIN_PIXELS)?.min(width), height));
        let mut plot = ChartBuilder::on(&area)
            .margin_top(TOP_PIXELS)
            .margin_left(MARGIN_PIXELS / 2)
            .margin_bottom(MARGIN_PIXELS / 2)
            .y_label_area_size(LABEL_PIXELS + LETTER_PIXELS * letters)
            .x_label_area_size(LABEL_PIXELS)
            .build_cartesian_2d(Scale::from(&self.x), y)?;
        self.mark(&mut plot)?;
        plot.configure_mesh()
            .bold_line_style(Part::Grid.colour().stroke_width(2))
            .light_line_style(TRANSPARENT)
            .axis_style(Part::Axis.colour().stroke_width(2))
            .label_style(text(Part::Faint.colour()))
            .axis_desc_style(text(Part::Faint.colour()))
            .set_all_tick_mark_size(6)
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .draw()?;
        for curve in self.curves.iter().rev() {
            self.trace(&mut plot, curve)?;
        }
        let named = self.curves.iter().filter(|curve| !curve.name.is_empty());
        named.zip(0..).try_for_each(|(curve, line)| legend(root, curve, line))
    }

    fn mark(&self, plot: &mut Plot<'_, '_>) -> Result<()> {
        let (bottom, top) = self.y.ends();
        let style = Part::Mark.colour();
        let mut last = i32::MIN;
        for Mark { range, label } in &self.marks {
            let [from, to] = [range.0, range.1].map(|x| self.x.place(x));
            if from < to {
                plot.draw_series([Rectangle::new([(from, bottom), (to, top)], style.filled())])?;
            } else {
                plot.draw_series([PathElement::new([(from, bottom), (from, top)], Part::Axis.colour())])?;
            }
            let middle = (f64::midpoint(from, to), top);
            let x = plot.backend_coord(&middle).0;
            if x >= last.saturating_add(MARK_STEP) {
                let words = Text::new(label.clone(), (0, -10), text(Part::Faint.colour()).pos(ABOVE_POINT));
                plot.draw_series([EmptyElement::at(middle) + words])?;
                last = x;
            }
        }
        Ok(())
    }

    fn trace(&self, plot: &mut Plot<'_, '_>, curve: &Curve) -> Result<()> {
        let x = self.x.ends();
        let y = self.y.ends();
        let points: Vec<(f64, f64)> = curve.points.iter().map(|&(a, b)| (self.x.place(a), self.y.place(b))).collect();
        let colour = curve.stroke.colour();
        for part in clip(&points, x, y) {
            plot.draw_series([PathElement::new(part, colour.stroke_width(width(curve.stroke)))])?;
        }
        let within = |&&(a, b): &&(f64, f64)| (x.0..=x.1).contains(&a) && (y.0..=y.1).contains(&b);
        if curve.stroke.dots {
            let dots =
                points.iter().filter(within).map(|&point| Circle::new(point, radius(curve.stroke), colour.filled()));
            plot.draw_series(dots)?;
        }
        for (&point, label) in points.iter().zip(&curve.labels).filter(|(point, _)| within(point)) {
            let words = Text::new(label.clone(), (0, -14), text(colour).pos(ABOVE_POINT));
            plot.draw_series([EmptyElement::at(point) + words])?;
        }
        Ok(())
    }
}

/// Draws a line of the legend: a piece of the curve, and its name.
fn legend(root: &Area<'_>, curve: &Curve, line: i32) -> Result<()> {
    let y = i32::try_from(TOP_PIXELS + LEGEND_STEP / 2)? + line * i32::try_from(LEGEND_STEP)?;
    let colour = curve.stroke.colour();
    let from = LEGEND_PIXELS + MARGIN_PIXELS;
    root.draw(&PathElement::new([(from, y), (from + 48, y)], colour.stroke_width(width(curve.stroke))))?;
    if curve.stroke.dots {
        root.draw(&Circle::new((from + 24, y), radius(curve.stroke), colour.filled()))?;
    }
    Ok(root.draw_text(
        &curve.name,
        &text(Part::Ink.colour()).pos(Pos::new(HPos::Left, VPos::Center)),
        (from + 62, y),
    )?)
}

const ABOVE_POINT: Pos = Pos { h_pos: HPos::Center, v_pos: VPos::Bottom };

const fn width(stroke: Stroke) -> u32 {
    if stroke.strong { 6 } else { 3 }
}

const fn radius(stroke: Stroke) -> u32 {
    if stroke.strong { 9 } else { 5 }
}

fn text(colour: RGBColor) -> TextStyle<'static> {
    letters(26.0).color(&colour)
}

fn title() -> TextStyle<'static> {
    letters(34.0).style(FontStyle::Bold).color(&Part::Ink.colour())
}

/// Returns letters of a height in pixels; plotters divides it by 1.24.
fn letters(height: f64) -> FontDesc<'static> {
    FontDesc::new(FontFamily::Name("system-ui, sans-serif"), height * 1.24, FontStyle::Normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_holds_its_curves_marks_and_names() -> Result<()> {
        let stroke = Stroke { colour: 3, pattern: Pattern::Dotted, strong: false, dots: true };
        let points = vec![(0.0, 20.0), (1.0, 30.0), (2.0, f64::INFINITY)];
        let curve = Curve { name: "a < b".to_owned(), points, stroke, labels: vec!["low".to_owned()] };
        let y = Axis::fitting("dB", shown(std::slice::from_ref(&curve), (0.0, 1.5)));
        let mark = |at: f64, label: &str| Mark { range: (at, at), label: label.to_owned() };
        let marks = vec![mark(0.2, "here"), mark(0.21, "too near"), mark(0.9, "there")];
        let svg =
            Chart { title: "t".to_owned(), x: Axis::linear("x", (0.0, 1.5)), y, marks, curves: vec![curve] }.svg()?;
        let count = |text: &str| svg.matches(text).count();
        assert!(svg.starts_with("<svg") && count("<style>") == 1 && count("</svg>") == 1, "{svg}");
        assert_eq!(
            (count("a &lt; b"), count("\nhere\n"), count("\nthere\n"), count("too near")),
            (1, 1, 1, 0),
            "{svg}"
        );
        // Two points, and the legend's; the third point is no number.
        assert_eq!((count("<circle"), count("\nlow\n")), (3, 1), "{svg}");
        Ok(())
    }
}
