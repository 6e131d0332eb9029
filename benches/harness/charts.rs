//! The plots of the population benchmark and of scaling.

use crate::{
    look,
    plot::{Chart, Curve, Look},
    population::Outcome,
    scaling,
};

/// Expected quality over the bytes stored, of one interval: a point for each number of encodes.
pub fn population(outcomes: &[Outcome], interval_ms: f64) -> Chart {
    let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.interval_ms == interval_ms).collect();
    let mut codecs: Vec<&str> = of.iter().map(|outcome| outcome.codec.as_str()).collect();
    codecs.dedup();
    let mut curves: Vec<Curve> = Vec::new();
    for codec in codecs {
        let points: Vec<&&Outcome> = of.iter().filter(|outcome| outcome.codec == codec).collect();
        let look = Look { dots: true, ..look::look(codec) };
        let is_ladder = points.len() > 1;
        let how = if is_ladder { ": 1, 3, 7 files" } else { ": cut" };
        curves.push(Curve {
            name: look::name(codec) + how,
            points: points.iter().map(|outcome| (outcome.stored_bytes / 1e3, outcome.expected_db)).collect(),
            look,
            labels: points.iter().filter(|_| is_ladder).map(|outcome| outcome.encodes.to_string()).collect(),
        });
    }
    let stored = || of.iter().map(|outcome| outcome.stored_bytes / 1e3);
    let (least, most) = (stored().fold(f64::INFINITY, f64::min), stored().fold(0.0, f64::max));
    Chart {
        title: format!("A picture every {interval_ms} ms: expected quality over what is stored"),
        x_label: "stored for a picture, all its files together (kB)".to_owned(),
        y_label: "expected squared error over all receivers, as PSNR (dB)".to_owned(),
        x_range: (least / 1.3, most * 1.3),
        x_log: true,
        y_from: None,
        curves,
    }
}

/// What a plot of scaling shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Milliseconds a megapixel.
    Time,
    /// Peak memory in bytes a pixel.
    Memory,
}

/// Time or memory a pixel over the size of the picture.
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
            name: look::name(operation),
            points: rows.filter_map(|row| Some((row.megapixels, value(row)?))).collect(),
            look: Look { strong: false, dots: true, ..look::look(operation) },
            labels: Vec::new(),
        }
    };
    let (title, y_label) = match growth {
        Growth::Time => ("Time over the size of the picture", "milliseconds a megapixel"),
        Growth::Memory => ("Peak memory over the size of the picture", "bytes a pixel, whole process"),
    };
    Chart {
        title: title.to_owned(),
        x_label: "megapixels".to_owned(),
        y_label: y_label.to_owned(),
        x_range: (0.08, 42.0),
        x_log: true,
        y_from: Some(0.0),
        curves: operations.iter().map(curve).collect(),
    }
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
