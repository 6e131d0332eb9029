//! What `nestcast eval` of a video draws: PSNR over rate.

use anyhow::Result;
use nestcast_lab::plot::{Axis, Chart, Curve, Stroke, shown};

use super::eval::{Report, Row};

/// As SVG.
pub(super) fn of(report: &Report) -> Result<String> {
    let curve = |name: &str, stroke, db: fn(&Row) -> f64| Curve {
        name: name.to_owned(),
        points: report.rates.iter().map(|row| (row.kbps, db(row))).collect(),
        stroke: Stroke { dots: true, ..stroke },
        labels: Vec::new(),
    };
    let curves = vec![
        curve("luma", Stroke::strong(0), |row| row.luma_db),
        curve("YCbCr 6:1:1", Stroke::dashed(0), |row| row.ycbcr_db),
        curve("luma, each frame alone", Stroke::dashed(2), |row| row.intra_luma_db),
    ];
    let ends = (report.rates[0].kbps, report.rates[report.rates.len() - 1].kbps * 1.001);
    let y = Axis::fitting("PSNR, dB", shown(&curves, ends));
    let title = format!("{}: one file at five bit rates", report.video);
    Chart { title, x: Axis::log("kbit/s", ends), y, marks: Vec::new(), curves }.svg()
}
