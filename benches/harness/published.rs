//! Published curves: read from a collection in JSON, and stored with the results as CSV.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::series::{Point, Series};

/// A curve of a collection: parallel arrays, with times in seconds on another machine.
#[derive(Deserialize)]
struct Published {
    bpp: Vec<f64>,
    psnr: Option<Vec<f64>>,
    ms_ssim: Option<Vec<f64>>,
    /// The rates of `ms_ssim`, where they differ from `bpp`.
    bpp_ms: Option<Vec<f64>>,
    /// The source of the figures.
    #[serde(default)]
    src: String,
}

/// A line of the CSV.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the curve.
    pub series: String,
    /// Bits per pixel.
    pub bpp: f64,
    /// RGB PSNR in dB.
    pub psnr_db: f64,
    /// MS-SSIM, where it was published.
    pub ms_ssim: Option<f64>,
    /// The source of the figures.
    pub source: String,
}

/// Reads the curves of these names, in their order, from a JSON object of `name: { src: "..", bpp: [..], psnr: [..],
/// ms_ssim: [..] }`.
///
/// Curves without PSNR are left out. MS-SSIM is dropped where it has a grid of its own; times are always dropped,
/// because they come from other machines.
pub fn read_json(path: &Path, names: &[&str]) -> Result<Vec<Line>> {
    let name = || format!("curves from {}", path.display());
    let text = std::fs::read_to_string(path).with_context(name)?;
    parse(&text, names).with_context(name)
}

fn parse(text: &str, names: &[&str]) -> Result<Vec<Line>> {
    let mut all: BTreeMap<String, serde_json::Value> = serde_json::from_str(text)?;
    let mut lines = Vec::new();
    for &name in names {
        let Some(value) = all.remove(name) else { continue };
        let curve: Published = serde_json::from_value(value).with_context(|| name.to_owned())?;
        let Published { bpp, psnr: Some(psnr), ms_ssim, bpp_ms, src } = curve else { continue };
        ensure!(psnr.len() == bpp.len(), "{name}: {} rates, {} PSNR", bpp.len(), psnr.len());
        let one_grid = bpp_ms.is_none_or(|rates| rates == bpp);
        let ms_ssim = ms_ssim.filter(|values| one_grid && values.len() == bpp.len());
        lines.extend(bpp.iter().zip(&psnr).enumerate().map(|(n, (&bpp, &psnr_db))| Line {
            series: name.to_owned(),
            bpp,
            psnr_db,
            ms_ssim: ms_ssim.as_ref().map(|values| values[n]),
            source: src.clone(),
        }));
    }
    Ok(lines)
}

/// Returns the lines as curves.
pub fn series(lines: &[Line]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for line in lines {
        if all.last().is_none_or(|series| series.name != line.series) {
            all.push(Series { name: line.series.clone(), points: Vec::new() });
        }
        let series = all.last_mut().expect("one was just added");
        let Line { bpp, psnr_db, ms_ssim, .. } = *line;
        series.points.push(Point { bpp, psnr_db, ms_ssim, encode_ms: None, decode_ms: None });
    }
    all
}

#[cfg(test)]
mod tests {
    use nestcast_lab::bd;

    use super::*;
    use crate::series::Quality;

    #[test]
    fn chosen_curves_are_read() {
        let text = r#"{ "_about": "a note",
            "x/full": { "src": "s", "bpp": [0.1, 0.2], "psnr": [25.0, 27.5], "ms_ssim": [0.8, 0.99], "enc_s": [1, 1] },
            "x/no-psnr": { "bpp": [0.1], "ms_ssim_db": [10.0] },
            "x/other": { "bpp": [0.1], "psnr": [1] },
            "x/own-grid": { "bpp": [0.1], "psnr": [25], "bpp_ms": [0.2], "ms_ssim": [0.8] } }"#;
        let series = series(&parse(text, &["x/own-grid", "x/full", "x/no-psnr", "x/none"]).expect("parses"));
        let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["x/own-grid", "x/full"]);
        assert_eq!(series[1].curve(Quality::Psnr)[1], bd::Point { bpp: 0.2, quality: 27.5 });
        assert!((series[1].curve(Quality::MsSsim)[1].quality - 20.0).abs() < 1e-9);
        assert!(series[0].curve(Quality::MsSsim).is_empty());
    }

    #[test]
    fn unequal_arrays_are_an_error() {
        assert!(parse(r#"{ "x": { "bpp": [0.1, 0.2], "psnr": [25.0] } }"#, &["x"]).is_err());
    }
}
