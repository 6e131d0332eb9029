//! The plots of the population benchmark and of scaling.

use nestcast_lab::plot::{Axis, Chart, Curve, Stroke, shown};

use crate::{population::Outcome, scaling, style};

/// Draws expected quality over the bytes stored, for one interval: a point for each number of encodes.
pub fn population(outcomes: &[Outcome], interval_ms: f64) -> Chart {
    let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.interval_ms == interval_ms).collect();
    let mut codecs: Vec<&str> = of.iter().map(|outcome| outcome.codec.as_str()).collect();
    codecs.dedup();
    let mut curves: Vec<Curve> = Vec::new();
    for codec in codecs {
        let points: Vec<&&Outcome> = of.iter().filter(|outcome| outcome.codec == codec).collect();
        let stroke = Stroke { dots: true, ..style::stroke(codec) };
        let is_ladder = points.len() > 1;
        let how = if is_ladder { ": 1, 3, 7 files" } else { ": cut" };
        curves.push(Curve {
            name: style::name(codec) + how,
            points: points.iter().map(|outcome| (outcome.stored_bytes / 1e3, outcome.expected_db)).collect(),
            stroke,
            labels: points.iter().filter(|_| is_ladder).map(|outcome| outcome.encodes.to_string()).collect(),
        });
    }
    let stored = || of.iter().map(|outcome| outcome.stored_bytes / 1e3);
    let (least, most) = (stored().fold(f64::INFINITY, f64::min), stored().fold(0.0, f64::max));
    let x = Axis::log("stored for a picture, all its files together (kB)", (least / 1.3, most * 1.3));
    let y = Axis::fitting("expected squared error over all receivers, as PSNR (dB)", shown(&curves, x.range));
    let title = format!("A picture every {interval_ms} ms: expected quality over what is stored");
    Chart { title, x, y, marks: Vec::new(), curves }
}

/// The figure of a plot of scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Milliseconds a megapixel.
    Time,
    /// Peak memory in bytes a pixel.
    Memory,
}

/// Draws time or memory a pixel over the size of the picture.
pub fn scaling(rows: &[scaling::Row], growth: Growth) -> Chart {
    let mut operations: Vec<&str> = Vec::new();
    for row in rows {
        if !operations.contains(&row.operation.as_str()) {
            operations.push(&row.operation);
        }
    }
    let value = |row: &scaling::Row| match growth {
        Growth::Time => Some(row.ms / row.megapixels),
        Growth::Memory => row.peak_mib.map(|mib| mib * 1.048_576 / row.megapixels),
    };
    let curve = |operation: &&str| {
        let rows = rows.iter().filter(|row| row.operation == *operation);
        Curve {
            name: style::name(operation),
            points: rows.filter_map(|row| Some((row.megapixels, value(row)?))).collect(),
            stroke: Stroke { strong: false, dots: true, ..style::stroke(operation) },
            labels: Vec::new(),
        }
    };
    let (title, y_label) = match growth {
        Growth::Time => ("Time over the size of the picture", "milliseconds a megapixel"),
        Growth::Memory => ("Peak memory over the size of the picture", "bytes a pixel, whole process"),
    };
    let curves: Vec<Curve> = operations.iter().map(curve).collect();
    let x = Axis::log("megapixels", (0.08, 42.0));
    let y = Axis::fitting(y_label, shown(&curves, x.range)).starting_at(0.0);
    Chart { title: title.to_owned(), x, y, marks: Vec::new(), curves }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_are_one_curve_with_a_point_an_encode() {
        let outcome = |codec: &str, encodes, stored_bytes| Outcome {
            interval_ms: 40.0,
            codec: codec.to_owned(),
            encodes,
            stored_bytes,
            unserved: 0.0,
            expected_db: 20.0 + encodes as f64,
            mean_db: 30.0,
        };
        let chart = population(&[outcome("deep", 1, 9e4), outcome("JPEG", 1, 1e4), outcome("JPEG", 3, 4e4)], 40.0);
        assert_eq!(chart.curves.len(), 2);
        assert_eq!(chart.curves[1].points, [(10.0, 21.0), (40.0, 23.0)]);
        assert_eq!(chart.curves[1].labels, ["1", "3"]);
        assert!(population(&[], 40.0).curves.is_empty());
    }
}
