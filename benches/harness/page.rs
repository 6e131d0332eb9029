//! The report: an HTML page beside the results, whose plots and pictures it links.

use std::fmt::Write;

use crate::{
    look,
    plot::escaped,
    population::{INTERVALS_MS, Outcome},
    report::{Report, cell},
    scaling,
    series::Quality,
    timing,
};

const STYLE: &str = include_str!("page.css");

/// Widest bar of a ratio, and the ratio it stands for; larger ones are cut.
const BAR_REM: f64 = 14.0;
const BAR_RATIO: f64 = 3.0;

/// All that the page shows. What was not measured is left out.
#[derive(Debug)]
pub struct Page {
    /// Rate and distortion.
    pub report: Report,
    /// The population benchmark.
    pub outcomes: Vec<Outcome>,
    /// Contact sheets: names of the JPEG files in `sheets`.
    pub sheets: Vec<String>,
    /// Times of one run of the benchmarks.
    pub timings: Vec<timing::Row>,
    /// Time and memory by size.
    pub scaling: Vec<scaling::Row>,
}

impl Page {
    /// The page.
    pub fn html(&self) -> String {
        let parts = [
            ("rate", "Rate and distortion", self.rate()),
            ("population", "One stream for everybody", self.population()),
            ("low", "The low end", self.low_end()),
            ("time", "Time", self.time()),
            ("size", "From 0.1 to 33 megapixels", self.size()),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|(_, _, body)| !body.is_empty()).collect();
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>nestcast: measurements</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>nestcast: measurements</h1>\n\
             <p>A picture is encoded once into one ordered stream of bytes, and any prefix of it is a picture. What that costs \
             and gives beside codecs that encode anew for every rate. Every byte of a file or prefix counts. Drawn by \
             <code>cargo xtask report</code> from the tables in <code>benches/results</code>.</p>\n<nav>"
        );
        for (id, heading, _) in &parts {
            let _ = write!(html, "<a href=\"#{id}\">{heading}</a>");
        }
        html += "</nav>\n";
        for (id, heading, body) in &parts {
            let _ = write!(html, "<h2 id=\"{id}\">{heading}</h2>\n{body}");
        }
        html + "</body>\n</html>\n"
    }

    fn rate(&self) -> String {
        if self.report.rivals.is_empty() {
            return String::new();
        }
        let mut html = format!(
            "<p>Means over {} pictures of Kodak: PSNR over the samples of all three channels, MS-SSIM over the channels. nestcast \
             is one stream a picture, cut at each point. Curves without dots, but for nestcast's, are published means over the same pictures.</p>\n",
            self.report.pictures
        );
        html += &plot("kodak/psnr.svg", "PSNR over bits per pixel");
        html += &plot("kodak/ms-ssim.svg", "MS-SSIM over bits per pixel");
        html += "<h3>BD-rate</h3>\n<p>Bytes that nestcast needs beside the codec of the row at equal quality, on average over the qualities that \
                 nestcast has from 0.1 to 1.5 bpp; negative: fewer. A star marks curves that share little.</p>\n";
        html + &self.rates()
    }

    /// BD-rates over both qualities in one table.
    fn rates(&self) -> String {
        let columns: Vec<String> = self.report.columns().iter().map(|column| look::name(&column.name)).collect();
        let (psnr, ssim) = (self.report.deltas(Quality::Psnr), self.report.deltas(Quality::MsSsim));
        let mut heads = vec!["against".to_owned()];
        let short = |column: &String| column.trim_start_matches("nestcast, ").to_owned();
        heads.extend(columns.iter().map(|column| short(column) + ", PSNR"));
        heads.extend(columns.iter().map(|column| short(column) + ", MS-SSIM"));
        // What was measured here is not listed again as somebody else's figures.
        let rows =
            psnr.iter().filter(|(name, _)| !name.starts_with("local/") || look::is_known(name)).map(|(name, cells)| {
                let other = ssim.iter().find(|row| row.0 == *name);
                let others = (0..columns.len()).map(|n| other.map_or_else(String::new, |row| cell(row.1[n])));
                let percents = cells.iter().map(|delta| cell(*delta)).chain(others);
                let percents = percents.map(|text| if text.is_empty() { text } else { text + " %" });
                [look::name(name)].into_iter().chain(percents).collect()
            });
        table(&heads, rows)
    }

    fn population(&self) -> String {
        if self.outcomes.is_empty() {
            return String::new();
        }
        let mut html = String::from(
            "<p>Receivers have the bandwidths of public traces: mobile links of Norwegian commuters, broadband lines measured by the FCC, \
             and links of a video service (Oboe), a third each. A picture is sent once an interval, so a receiver's \
             budget is its bandwidth times the interval. nestcast's stream is cut to every budget. A ladder's receivers take the largest file that \
             fits; its files are the best choice for each picture and population, found by an exact search over all qualities with the receivers \
             known. A receiver for whom no file is small enough is counted as seeing the picture's mean colour. No file is of a smaller \
             picture than the original.</p>\n",
        );
        for interval in INTERVALS_MS {
            html += &plot(&format!("population/expected-{interval}ms.svg"), "expected quality over what is stored");
            let heads = ["", "encodes", "stored", "without a picture", "expected error as PSNR", "expected PSNR"];
            let rows = self.outcomes.iter().filter(|outcome| outcome.interval_ms == interval).map(|outcome| {
                vec![
                    look::name(&outcome.codec),
                    outcome.encodes.to_string(),
                    format!("{:.1} kB", outcome.stored_bytes / 1e3),
                    format!("{:.1} %", outcome.unserved * 100.0),
                    format!("{:.2} dB", outcome.expected_db),
                    format!("{:.2} dB", outcome.mean_db),
                ]
            });
            html += &table(&heads.map(str::to_owned), rows);
        }
        html
    }

    fn low_end(&self) -> String {
        if self.sheets.is_empty() {
            return String::new();
        }
        let mut html = String::from(
            "<p>Each row has one budget. The rivals encode for it anew, with the highest quality that fits; nestcast's pictures are prefixes of one \
             stream. Above all the first 0.5 % of the stream, where the whole frame is there.</p>\n",
        );
        for file in &self.sheets {
            let name = escaped(&file.trim_end_matches(".jpg").replace('_', " "));
            let _ = writeln!(
                html,
                "<figure><img alt=\"{name} by six codecs at equal bytes\" src=\"sheets/{}\"><figcaption>{name}</figcaption></figure>",
                escaped(file)
            );
        }
        html
    }

    fn time(&self) -> String {
        let Some(first) = self.timings.first() else { return String::new() };
        let mut html = format!(
            "<p>{} near 1 bpp, medians of one run of <code>cargo bench</code>, {}. nestcast uses two threads, the rivals, which know no more, one. \
             Machines are shared: read the ratios.</p>\n",
            escaped(&first.picture),
            escaped(&first.machine)
        );
        let ratios = timing::ratios(&self.timings).into_iter().map(|ratio| {
            let times = ratio.ours_ms / ratio.rival_ms;
            let class = if times > 1.0 { "bar over" } else { "bar" };
            let bar = format!(
                "<span class=\"{class}\" style=\"width:{:.2}rem\"></span> {times:.2}",
                times.min(BAR_RATIO) / BAR_RATIO * BAR_REM
            );
            let cells = [
                escaped(&ratio.ours.replace('/', ", ")),
                format!("{:.1} ms", ratio.ours_ms),
                escaped(&ratio.rival.replace('/', ", ")),
                format!("{:.1} ms", ratio.rival_ms),
            ];
            (cells, bar)
        });
        html += "<div class=\"wide\"><table><tr><th>nestcast</th><th></th><th>rival</th><th></th><th>ratio</th></tr>\n";
        for (cells, bar) in ratios {
            html += "<tr>";
            for cell in cells {
                let _ = write!(html, "<td>{cell}</td>");
            }
            let _ = writeln!(html, "<td class=\"bars\">{bar}</td></tr>");
        }
        html += "</table></div>\n<h3>Every stage and rival</h3>\n";
        let rows = self
            .timings
            .iter()
            .map(|row| vec![row.group.clone(), row.name.replace('/', ", "), format!("{:.2} ms", row.median_ms)]);
        html + &table(&["group", "what", "median"].map(str::to_owned), rows)
    }

    fn size(&self) -> String {
        let Some(first) = self.scaling.first() else { return String::new() };
        let mut html = format!(
            "<p>A photo laid out like mirrored tiles, streams of 1 bpp, {} threads, {}. Every figure comes from a process of its own, whose peak resident \
             set is counted whole: the picture, the program and, for the deep transforms, ONNX Runtime.</p>\n",
            first.threads,
            escaped(&first.machine)
        );
        html += &plot("scaling-time.svg", "time over megapixels");
        html += &plot("scaling-memory.svg", "peak memory over megapixels");
        let rows = self.scaling.iter().map(|row| {
            let memory = |scale: f64, unit: &str| {
                row.peak_mib.map_or_else(String::new, |mib| format!("{:.0} {unit}", mib * scale))
            };
            vec![
                format!("{} x {}", row.width, row.height),
                format!("{:.1}", row.megapixels),
                look::name(&row.operation),
                format!("{:.1} ms", row.ms),
                format!("{:.1} ms", row.ms / row.megapixels),
                memory(1.0, "MiB"),
                memory(1.048_576 / row.megapixels, "B"),
            ]
        });
        let heads = ["pixels", "megapixels", "what", "time", "a megapixel", "peak memory", "a pixel"];
        html += &table(&heads.map(str::to_owned), rows);
        html
    }
}

/// A plot of the results' folder.
fn plot(file: &str, alt: &str) -> String {
    format!("<div class=\"wide\"><img class=\"plot\" alt=\"{alt}\" src=\"{file}\"></div>\n")
}

/// A table; texts are plain.
fn table(heads: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut html = String::from("<div class=\"wide\"><table><tr>");
    for head in heads {
        let _ = write!(html, "<th>{}</th>", escaped(head));
    }
    html += "</tr>\n";
    for row in rows {
        let ours = if row[0].starts_with("nestcast") { " class=\"ours\"" } else { "" };
        html += "<tr>";
        for cell in row {
            let _ = write!(html, "<td{ours}>{}</td>", escaped(&cell));
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_left_out() {
        let report = Report { ours: Vec::new(), rivals: Vec::new(), anchors: Vec::new(), pictures: 0 };
        let row = timing::Row {
            machine: "m".to_owned(),
            picture: "a<b".to_owned(),
            group: "stage".to_owned(),
            name: "deep".to_owned(),
            median_ms: 1.0,
        };
        let (outcomes, sheets, scaling) = (Vec::new(), vec!["a_photo.jpg".to_owned()], Vec::new());
        let html = Page { report, outcomes, sheets, timings: vec![row], scaling }.html();
        assert!(html.contains("src=\"sheets/a_photo.jpg\"") && html.contains("a photo"));
        assert!(html.contains("a&lt;b") && html.contains("1.00 ms"));
        assert!(!html.contains("megapixels") && !html.contains("BD-rate"), "{html}");
    }
}
