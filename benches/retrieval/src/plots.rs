//! The figure: time of a query by code length, and by number of codes.

use std::path::Path;

use anyhow::Result;
use nestcast_lab::plot::{Axis, Chart, Curve, Pattern, Stroke};

use crate::table::Row;

/// The database of the first plot, and the code length of the second: the paper's.
const CODE_COUNT: usize = 1_000_000;
const CODE_BITS: usize = 512;

/// The curves: method, parameter, name, colour and pattern.
const DRAWN_CURVES: [(&str, &str, &str, usize, Pattern); 10] = [
    ("ordered", "512", "ordered, R = 512", 0, Pattern::Dotted),
    ("ordered", "32", "ordered, R = 32", 0, Pattern::Solid),
    ("ordered", "2", "ordered, R = 2", 0, Pattern::Dashed),
    ("semantic", "1", "semantic, radius 1", 5, Pattern::Dotted),
    ("semantic", "2", "semantic, radius 2", 5, Pattern::Dashed),
    ("semantic", "3", "semantic, radius 3", 5, Pattern::Solid),
    ("linear", "", "linear scan", 2, Pattern::Solid),
    ("faiss-flat", "", "FAISS, linear", 3, Pattern::Solid),
    ("faiss-hnsw", "32", "FAISS, HNSW 32", 3, Pattern::Dashed),
    ("faiss-ivf", "8", "FAISS, IVF 8 lists", 3, Pattern::Dotted),
];

/// Draws both plots.
pub(crate) fn draw(rows: &[Row], folder: &Path) -> Result<()> {
    let by_length = plot(rows, ("Time of a query, a million codes", "bits of a code"), &|row| {
        (row.count == CODE_COUNT).then_some(row.bits)
    })?;
    let by_count = plot(rows, ("Time of a query, codes of 512 bits", "codes"), &|row| {
        (row.bits == CODE_BITS).then_some(row.count)
    })?;
    std::fs::write(folder.join("length.svg"), by_length)?;
    Ok(std::fs::write(folder.join("count.svg"), by_count)?)
}

/// Returns a row's place on the x axis, if the plot contains the row.
type Place<'a> = &'a dyn Fn(&Row) -> Option<usize>;

fn plot(rows: &[Row], (title, x): (&str, &str), place: Place<'_>) -> Result<String> {
    let curves = DRAWN_CURVES.iter().map(|style| curve(rows, style, place)).filter(|curve| !curve.points.is_empty());
    let curves: Vec<_> = curves.collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = curves.iter().flat_map(|curve| &curve.points).map(of);
        values.fold((f64::INFINITY, 0.0), |(low, high), value| (f64::min(low, value), f64::max(high, value)))
    };
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    Chart {
        title: title.to_owned(),
        x: Axis::log(x, (left, right)),
        y: Axis::log("microseconds", (low / 2.0, high * 2.0)),
        marks: Vec::new(),
        curves,
    }
    .svg()
}

fn curve(
    rows: &[Row],
    &(method, parameter, name, colour, pattern): &(&str, &str, &str, usize, Pattern),
    place: Place<'_>,
) -> Curve {
    let of = rows.iter().filter(|row| row.is(method, parameter) && row.queries == "new");
    let mut points: Vec<_> = of.filter_map(|row| Some((place(row)? as f64, row.us))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let stroke = Stroke { colour, pattern, strong: method == "ordered", dots: true };
    Curve { name: name.to_owned(), points, stroke, labels: Vec::new() }
}
