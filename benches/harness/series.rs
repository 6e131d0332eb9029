//! Rate-distortion series: measured rows as CSV, and their averages over images.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use nestcast_lab::{bd, metrics::ms_ssim_db, rate_distortion::Row};

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
    /// The name in tables and legends.
    pub name: String,
    /// Its points, in the order of its grid.
    pub points: Vec<Point>,
}

/// The quality over which a curve is drawn or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// RGB PSNR in dB.
    Psnr,
    /// MS-SSIM in dB ([`ms_ssim_db`]).
    MsSsim,
}

impl Series {
    /// Returns the points that have this quality.
    pub fn curve(&self, quality: Quality) -> Vec<bd::Point> {
        let value = |point: &Point| match quality {
            Quality::Psnr => Some(point.psnr_db),
            Quality::MsSsim => point.ms_ssim.map(ms_ssim_db),
        };
        self.points.iter().filter_map(|point| Some(bd::Point { bpp: point.bpp, quality: value(point)? })).collect()
    }
}

/// Averages over images, one series for each decoder: the n-th point is the mean of every image's n-th row.
///
/// A rival is therefore averaged at equal parameter and nestcast at equal rate, PSNR in dB, as the published curves
/// are. An image with more or fewer rows than the others is an error, because a mean over other images would be another
/// curve.
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

/// Returns the mean, if every value is present.
fn mean_of_all(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let count = values.len() as f64;
    Some(values.sum::<Option<f64>>()? / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(image: &str, decoder: &str, bpp: f64, psnr_db: f64, ms_ssim: Option<f64>) -> Row {
        let (image, decoder) = (image.to_owned(), decoder.to_owned());
        Row { image, decoder, bytes: 100, bpp, psnr_db, ms_ssim, decode_ms: Some(2.0), ..Row::default() }
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
}
