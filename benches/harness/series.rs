//! Rate-distortion series: measured rows as CSV, published curves as JSON, and their averages over images.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use nestcast_metrics::ms_ssim_db;

use crate::bd;

/// One picture by one decoder at one rate: a line of our CSV and of the rivals'.
///
/// `nestcast eval` writes the same columns. Within a decoder and image, lines go through the grid in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// File name of the picture.
    pub image: String,
    /// Which decoder (linear, deep) or rival.
    pub decoder: String,
    /// Bytes decoded from, all of them counted.
    pub bytes: usize,
    /// The same in bits per pixel.
    pub bpp: f64,
    /// RGB PSNR in dB.
    pub psnr_db: f64,
    /// MS-SSIM, where it was measured.
    pub ms_ssim: Option<f64>,
    /// Time to encode in milliseconds, where it was measured.
    pub encode_ms: Option<f64>,
    /// Time to decode in milliseconds, where it was measured.
    pub decode_ms: Option<f64>,
}

/// One point of a curve, a mean over images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bits per pixel.
    pub bpp: f64,
    /// RGB PSNR in dB.
    pub psnr_db: f64,
    /// MS-SSIM.
    pub ms_ssim: Option<f64>,
    /// Time to encode in milliseconds.
    pub encode_ms: Option<f64>,
    /// Time to decode in milliseconds.
    pub decode_ms: Option<f64>,
}

/// A named curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What tables and legends call it.
    pub name: String,
    /// Its points, in the order of its grid.
    pub points: Vec<Point>,
}

/// What a curve is drawn or compared over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// RGB PSNR in dB.
    Psnr,
    /// MS-SSIM in dB ([`ms_ssim_db`]).
    MsSsim,
}

impl Series {
    /// The points that have this quality.
    pub fn curve(&self, quality: Quality) -> Vec<bd::Point> {
        let value = |point: &Point| match quality {
            Quality::Psnr => Some(point.psnr_db),
            Quality::MsSsim => point.ms_ssim.map(ms_ssim_db),
        };
        self.points.iter().filter_map(|point| Some(bd::Point { bpp: point.bpp, quality: value(point)? })).collect()
    }
}

/// Reads rows from a CSV file with the header `image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms`.
///
/// An empty field is a value that was not measured.
pub fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let name = || format!("rows from {}", path.display());
    let rows: Result<Vec<Row>, _> = csv::Reader::from_path(path).with_context(name)?.into_deserialize().collect();
    rows.with_context(name)
}

/// Writes rows as [`read_rows`] reads them.
pub fn write_rows(path: &Path, rows: &[Row]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| format!("rows to {}", path.display()))?;
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(writer.flush()?)
}

/// Averages over images, one series a decoder: the n-th point is the mean of every image's n-th row.
///
/// So a rival is averaged at equal parameter and ours at equal rate, PSNR in dB, as the published curves are. An image
/// with more or fewer rows than the others is an error: a mean over other images would be another curve.
pub fn average(rows: &[Row]) -> Result<Vec<Series>> {
    let mut decoders: Vec<(&str, BTreeMap<&str, Vec<&Row>>)> = Vec::new();
    for row in rows {
        let place = decoders.iter().position(|(name, _)| *name == row.decoder).unwrap_or_else(|| {
            decoders.push((&row.decoder, BTreeMap::new()));
            decoders.len() - 1
        });
        decoders[place].1.entry(&row.image).or_default().push(row);
    }
    decoders.into_iter().map(|(name, images)| average_decoder(name, &images)).collect()
}

fn average_decoder(name: &str, images: &BTreeMap<&str, Vec<&Row>>) -> Result<Series> {
    let grid = images.values().next().map_or(0, Vec::len);
    for (image, rows) in images {
        ensure!(rows.len() == grid, "{name}: {image} has {} rows where others have {grid}", rows.len());
    }
    let points = (0..grid).map(|n| {
        let at: Vec<&Row> = images.values().map(|rows| rows[n]).collect();
        Point {
            bpp: mean(at.iter().map(|row| row.bpp)),
            psnr_db: mean(at.iter().map(|row| row.psnr_db)),
            ms_ssim: mean_of_all(at.iter().map(|row| row.ms_ssim)),
            encode_ms: mean_of_all(at.iter().map(|row| row.encode_ms)),
            decode_ms: mean_of_all(at.iter().map(|row| row.decode_ms)),
        }
    });
    Ok(Series { name: name.to_owned(), points: points.collect() })
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The mean, if every value is there.
fn mean_of_all(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let count = values.len() as f64;
    Some(values.sum::<Option<f64>>()? / count)
}

/// A published curve, as the anchors file holds it: parallel arrays, times in seconds on another machine.
#[derive(Deserialize)]
struct Published {
    bpp: Vec<f64>,
    psnr: Option<Vec<f64>>,
    ms_ssim: Option<Vec<f64>>,
    /// The rates of `ms_ssim`, where they are given apart.
    bpp_ms: Option<Vec<f64>>,
}

/// Reads published curves: a JSON object of `name: { bpp: [..], psnr: [..], ms_ssim: [..] }`.
///
/// Names that begin with `_` are notes. Curves without PSNR are left out; MS-SSIM is dropped where it is on a grid of its
/// own, and times always, because they are of other machines.
pub fn read_anchors(path: &Path) -> Result<Vec<Series>> {
    let name = || format!("anchors from {}", path.display());
    let text = std::fs::read_to_string(path).with_context(name)?;
    parse_anchors(&text).with_context(name)
}

fn parse_anchors(text: &str) -> Result<Vec<Series>> {
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_str(text)?;
    let mut series = Vec::new();
    for (name, value) in all.into_iter().filter(|(name, _)| !name.starts_with('_')) {
        let Published { bpp, psnr, ms_ssim, bpp_ms } = serde_json::from_value(value).with_context(|| name.clone())?;
        let Some(psnr) = psnr else { continue };
        ensure!(psnr.len() == bpp.len(), "{name}: {} rates, {} PSNR", bpp.len(), psnr.len());
        let one_grid = bpp_ms.is_none_or(|rates| rates == bpp);
        let ms_ssim = ms_ssim.filter(|values| one_grid && values.len() == bpp.len());
        let points = bpp.iter().zip(&psnr).enumerate().map(|(n, (&bpp, &psnr_db))| Point {
            bpp,
            psnr_db,
            ms_ssim: ms_ssim.as_ref().map(|values| values[n]),
            encode_ms: None,
            decode_ms: None,
        });
        series.push(Series { name, points: points.collect() });
    }
    Ok(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(image: &str, decoder: &str, bpp: f64, psnr_db: f64, ms_ssim: Option<f64>) -> Row {
        let (image, decoder) = (image.to_owned(), decoder.to_owned());
        Row { image, decoder, bytes: 100, bpp, psnr_db, ms_ssim, encode_ms: None, decode_ms: Some(2.0) }
    }

    #[test]
    fn means_are_taken_at_equal_grid_points() {
        let rows = [
            row("a.png", "deep", 0.1, 30.0, Some(0.8)),
            row("a.png", "deep", 0.2, 34.0, Some(0.9)),
            row("a.png", "linear", 0.1, 29.0, None),
            row("b.png", "deep", 0.1, 26.0, Some(0.6)),
            row("b.png", "deep", 0.3, 30.0, None),
            row("b.png", "linear", 0.1, 27.0, None),
        ];
        let series = average(&rows).expect("a full grid");
        assert_eq!(series.len(), 2);
        assert_eq!(series[0].name, "deep");
        assert_eq!(series[0].points.len(), 2);
        assert!((series[0].points[0].psnr_db - 28.0).abs() < 1e-12);
        assert!((series[0].points[0].ms_ssim.expect("all have it") - 0.7).abs() < 1e-12);
        assert!((series[0].points[1].bpp - 0.25).abs() < 1e-12);
        assert_eq!(series[0].points[1].ms_ssim, None);
        assert_eq!(series[1].points[0].decode_ms, Some(2.0));
        assert_eq!(series[1].points[0].encode_ms, None);
    }

    #[test]
    fn a_missing_row_is_an_error() {
        let rows = [
            row("a.png", "deep", 0.1, 30.0, None),
            row("a.png", "deep", 0.2, 34.0, None),
            row("b.png", "deep", 0.1, 26.0, None),
        ];
        assert!(average(&rows).is_err());
    }

    #[test]
    fn rows_survive_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        let rows = vec![row("a, b.png", "deep", 0.125, 30.5, Some(0.9)), row("c.png", "linear", 0.5, 31.0, None)];
        write_rows(&path, &rows).expect("writes");
        let text = std::fs::read_to_string(&path).expect("reads");
        assert!(text.starts_with("image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms\n"), "{text}");
        assert!(text.contains("c.png,linear,100,0.5,31.0,,,2.0"), "{text}");
        assert_eq!(read_rows(&path).expect("reads"), rows);
    }

    #[test]
    fn anchors_are_read() {
        let text = r#"{ "_about": "a note",
            "x/full": { "src": "s", "bpp": [0.1, 0.2], "psnr": [25.0, 27.5], "ms_ssim": [0.8, 0.99], "enc_s": [1, 1] },
            "x/no-psnr": { "bpp": [0.1], "ms_ssim_db": [10.0] },
            "x/own-grid": { "bpp": [0.1], "psnr": [25], "bpp_ms": [0.2], "ms_ssim": [0.8] } }"#;
        let series = parse_anchors(text).expect("parses");
        let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["x/full", "x/own-grid"]);
        assert_eq!(series[0].curve(Quality::Psnr)[1], bd::Point { bpp: 0.2, quality: 27.5 });
        assert!((series[0].curve(Quality::MsSsim)[1].quality - 20.0).abs() < 1e-9);
        assert!(series[1].curve(Quality::MsSsim).is_empty());
    }

    #[test]
    fn unequal_arrays_are_an_error() {
        assert!(parse_anchors(r#"{ "x": { "bpp": [0.1, 0.2], "psnr": [25.0] } }"#).is_err());
    }
}
