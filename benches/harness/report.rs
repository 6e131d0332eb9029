//! Rate and distortion of all codecs: the averaged curves as CSV, BD-rates as Markdown, plots as SVG.

use std::{fmt::Write, path::Path};

use anyhow::Result;
use serde::Serialize;

use nestcast_lab::{
    bd,
    plot::{Axis, Chart, Curve, shown},
};

use crate::{
    series::{Quality, Series},
    style,
};

/// The rates of BD-rates, in bits per pixel; a byte grid may fall a little short of its ends.
const RANGE_BPP: (f64, f64) = (0.1, 1.5);
const RANGE_SLACK_BPP: f64 = 1e-3;

/// The rates in plots, in bits per pixel.
const SHOWN_BPP: (f64, f64) = (0.0, 1.6);

/// How far plots extend below nestcast's lowest quality.
const DEPTH_DB: f64 = 4.0;

/// The dB of overlap below which a BD-rate means little.
const SHORT_OVERLAP_DB: f64 = 4.0;

/// Published curves that are stored with the results: the codecs of the goals first, then the field.
pub const PUBLISHED_CURVES: [&str; 14] = [
    "local/jpeg_turbo_420_opt",
    "local/jpeg2000_openjpeg_embedded_layers",
    "local/webp_m6",
    "tfc/bpg444",
    "local/jpeg2000_openjpeg_perrate",
    "local/avif_libavif_s6_444",
    "local/jxl_0.7_e7",
    "progressive/DPICT",
    "progressive/CTC_2023",
    "progressive/VarMask_WACV25",
    "cai/compressai-bmshj2018-factorized_mse_cpu",
    "cai/compressai-bmshj2018-hyperprior_mse_cpu",
    "cai/hm",
    "cai/vtm",
];

/// Published curves in plots.
const DRAWN_CURVES: [&str; 3] = ["tfc/bpg444", "progressive/DPICT", "cai/vtm"];

/// All curves of a report.
#[derive(Clone, Debug)]
pub struct Report {
    /// nestcast's decoders; without them the rivals are compared with each other.
    pub ours: Vec<Series>,
    /// Rivals measured on the same pictures.
    pub rivals: Vec<Series>,
    /// Published curves, means over the 24 Kodak pictures.
    pub anchors: Vec<Series>,
    /// Number of pictures that `rivals` were measured on.
    pub pictures: usize,
}

#[derive(Serialize)]
struct Line<'a> {
    series: &'a str,
    bpp: f64,
    psnr_db: f64,
    ms_ssim: Option<f64>,
    encode_ms: Option<f64>,
    decode_ms: Option<f64>,
}

impl Report {
    /// Writes `rd.csv`, `bd.md`, `psnr.svg` and `ms-ssim.svg` into `folder`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.write_curves(&folder.join("rd.csv"))?;
        std::fs::write(folder.join("bd.md"), self.markdown())?;
        std::fs::write(folder.join("psnr.svg"), self.chart(Quality::Psnr).svg()?)?;
        std::fs::write(folder.join("ms-ssim.svg"), self.chart(Quality::MsSsim).svg()?)?;
        Ok(())
    }

    fn write_curves(&self, path: &Path) -> Result<()> {
        let mut writer = csv::Writer::from_path(path)?;
        for series in self.ours.iter().chain(&self.rivals) {
            for point in &series.points {
                writer.serialize(Line {
                    series: &series.name,
                    bpp: point.bpp,
                    psnr_db: point.psnr_db,
                    ms_ssim: point.ms_ssim,
                    encode_ms: point.encode_ms,
                    decode_ms: point.decode_ms,
                })?;
            }
        }
        Ok(writer.flush()?)
    }

    /// Returns nestcast's lowest quality; plots begin a little below it, because some rivals fall without end.
    fn lowest(&self, quality: Quality) -> Option<f64> {
        let all = self.ours.iter().flat_map(|series| series.curve(quality));
        all.map(|point| point.quality).filter(|quality| quality.is_finite()).reduce(f64::min)
    }

    /// Returns BD-rate tables over PSNR and over MS-SSIM.
    pub fn markdown(&self) -> String {
        let (low, high) = RANGE_BPP;
        let mut text = format!(
            "# BD-rate\n\n\
             In %: negative where the column needs fewer bits than the row at equal quality, over the\n\
             qualities that the column has from {low} to {high} bpp. Curves are means over pictures; the\n\
             rivals were measured on {} of them. Rows with a slash are published means over 24 Kodak\n\
             pictures: read them only if these are the pictures measured. A star marks curves that\n\
             share less than {SHORT_OVERLAP_DB} dB.\n",
            self.pictures
        );
        for (heading, quality) in [("RGB PSNR", Quality::Psnr), ("MS-SSIM", Quality::MsSsim)] {
            write!(text, "\n## {heading}\n\n{}", self.table(quality)).expect("writing to a string cannot fail");
        }
        text
    }

    /// Returns the columns of BD-rate tables: nestcast, or the rivals among themselves.
    pub fn columns(&self) -> &[Series] {
        if self.ours.is_empty() { &self.rivals } else { &self.ours }
    }

    /// Returns BD-rates of every column against every rival and published curve that shares a range with one of them.
    pub fn deltas(&self, quality: Quality) -> Vec<(&str, Vec<Option<bd::Delta>>)> {
        let rows = self.rivals.iter().chain(&self.anchors).map(|row| {
            let anchor = row.curve(quality);
            let cells = self.columns().iter().map(|column| compared(&anchor, &column.curve(quality)));
            (row.name.as_str(), cells.collect::<Vec<_>>())
        });
        rows.filter(|(_, cells)| cells.iter().any(Option::is_some)).collect()
    }

    fn table(&self, quality: Quality) -> String {
        let columns = self.columns();
        let mut text = String::from("| rival |");
        for column in columns {
            text += &format!(" {} |", column.name);
        }
        text += "\n|---|";
        text += &"---:|".repeat(columns.len());
        text += "\n";
        for (name, cells) in self.deltas(quality) {
            text += &format!("| {name} |");
            text +=
                &cells.into_iter().map(|delta| format!(" {} |", cell(delta)).replace("  |", " |")).collect::<String>();
            text += "\n";
        }
        text
    }

    /// Draws the plot of one quality.
    pub fn chart(&self, quality: Quality) -> Chart {
        let (title, y_label) = match quality {
            Quality::Psnr => ("Rate and PSNR", "RGB PSNR (dB)"),
            Quality::MsSsim => ("Rate and MS-SSIM", "MS-SSIM, -10 log10(1 - value) (dB)"),
        };
        let drawn = self.anchors.iter().filter(|anchor| DRAWN_CURVES.contains(&anchor.name.as_str()));
        let all = self.ours.iter().rev().chain(&self.rivals).chain(drawn);
        let curves = all.map(|series| Curve {
            name: style::name(&series.name),
            points: series.curve(quality).into_iter().map(|point| (point.bpp, point.quality)).collect(),
            stroke: style::stroke(&series.name),
            labels: Vec::new(),
        });
        let curves: Vec<Curve> = curves.filter(|curve| !curve.points.is_empty()).collect();
        let y = Axis::fitting(y_label, shown(&curves, SHOWN_BPP));
        let y = if let Some(low) = self.lowest(quality) { y.starting_at(low - DEPTH_DB) } else { y };
        let x = Axis::linear("rate (bits per pixel)", SHOWN_BPP);
        Chart { title: title.to_owned(), x, y, marks: Vec::new(), curves }
    }
}

/// Returns the BD-rate over the qualities that `column` has in the range of rates.
fn compared(anchor: &[bd::Point], column: &[bd::Point]) -> Option<bd::Delta> {
    let rates = RANGE_BPP.0 - RANGE_SLACK_BPP..=RANGE_BPP.1 + RANGE_SLACK_BPP;
    let within = column.iter().filter(|point| rates.contains(&point.bpp) && point.quality.is_finite());
    let range = within.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        (low.min(point.quality), high.max(point.quality))
    });
    bd::delta_rate_within(anchor, column, range)
}

/// Formats a BD-rate in %, with a star where the curves share little.
#[must_use]
pub fn cell(delta: Option<bd::Delta>) -> String {
    delta.map_or_else(String::new, |delta| {
        let short = delta.overlap.1 - delta.overlap.0 < SHORT_OVERLAP_DB;
        format!("{:+.1}{}", delta.percent, if short { "*" } else { "" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Point;

    fn series(name: &str, factor: f64) -> Series {
        let points = [(0.05, 22.0), (0.1, 25.0), (0.5, 31.0), (1.5, 37.0), (3.0, 42.0)];
        let point =
            |(bpp, psnr_db)| Point { bpp: bpp * factor, psnr_db, ms_ssim: None, encode_ms: None, decode_ms: Some(1.5) };
        Series { name: name.to_owned(), points: points.map(point).to_vec() }
    }

    fn report() -> Report {
        Report {
            ours: vec![series("linear", 1.0)],
            rivals: vec![series("jpeg-420", 1.25)],
            anchors: vec![series("tfc/bpg444", 0.8)],
            pictures: 1,
        }
    }

    #[test]
    fn tables_compare_every_row_with_every_column() {
        let text = report().markdown();
        assert!(text.contains("| rival | linear |\n|---|---:|\n"), "{text}");
        assert!(text.contains("| jpeg-420 | -20.0 |\n"), "{text}");
        assert!(text.contains("| tfc/bpg444 | +25.0 |\n"), "{text}");
    }

    #[test]
    fn without_ours_the_rivals_are_compared() {
        let text = Report { ours: Vec::new(), ..report() }.markdown();
        assert!(text.contains("| jpeg-420 | +0.0 |\n"), "{text}");
    }

    #[test]
    fn a_report_is_four_files() {
        let folder = tempfile::tempdir().expect("a folder");
        report().write(folder.path()).expect("writes");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("reads");
        assert!(read("rd.csv").starts_with("series,bpp,psnr_db,ms_ssim,encode_ms,decode_ms\nlinear,0.05,22.0,,,1.5\n"));
        for name in ["nestcast, linear", "JPEG 4:2:0", "BPG 4:4:4 (published)"] {
            assert!(read("psnr.svg").contains(&format!("\n{name}\n")), "{name}");
            assert!(!read("ms-ssim.svg").contains(&format!("\n{name}\n")), "{name}: no MS-SSIM was measured");
        }
    }
}
