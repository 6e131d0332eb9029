//! Measurements of video as tables and plots.

use std::{fmt::Write as _, path::Path};

use anyhow::Result;
use nestcast_lab::{
    bd,
    plot::{Axis, Chart, Curve, Mark, Stroke, shown},
    video::FIRST_FRAME,
};

use super::{FrameRow, Row, Step, population::Outcome, scheme::is_in_plots};
use crate::style;

/// The anchors of BD-rates.
pub const ANCHOR_IDS: [&str; 4] = ["intra", "x264", "x264-psnr", "x264-refresh"];
/// The schemes whose frames are drawn.
pub const DRAWN_SCHEMES: [&str; 5] = ["nestcast", "intra", "x264", "x264-refresh", "vp9"];

/// The planes that quality is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planes {
    /// Luma alone.
    Luma,
    /// Luma and both colour differences, weighted 6:1:1.
    Ycbcr,
}

/// The cost that quality is compared at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The rate that the receiver's link must have.
    Link,
    /// The bytes that were used.
    Bytes,
}

/// The tables of `results/video`.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every clip by every scheme at every rate.
    pub rows: Vec<Row>,
    /// Every frame at the middle rate.
    pub frames: Vec<FrameRow>,
    /// The population figure.
    pub outcomes: Vec<Outcome>,
    /// Rises and falls of the rate.
    pub steps: Vec<Step>,
}

/// Figures of one scheme, means over clips and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Id of the scheme.
    pub scheme: String,
    /// BD-rate in %, by [`ANCHOR_IDS`]: the mean over the clips where the curves share a range.
    pub rates: [Option<f64>; ANCHOR_IDS.len()],
    /// Mean PSNR of luma in dB, of the receivers of all rates.
    pub luma_db: f64,
    /// Mean PSNR of luma and colour in dB.
    pub ycbcr_db: f64,
    /// Mean of the least PSNR of luma in a run.
    pub least_db: f64,
    /// Mean of the largest difference of luma's PSNR between neighbouring frames of a run.
    pub jump_db: f64,
    /// Mean fraction of the receivers' rates that is used.
    pub used: f64,
    /// Frame times of the largest frame of all runs.
    pub largest_frame: f64,
}

impl Report {
    /// Returns the clips, in the order of the table.
    #[must_use]
    pub fn clips(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.clip.as_str()))
    }

    /// Returns the schemes, in the order of the table.
    #[must_use]
    pub fn schemes(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.scheme.as_str()))
    }

    fn rows_of(&self, clip: &str, scheme: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.clip == clip && row.scheme == scheme)
    }

    fn curve(&self, clip: &str, scheme: &str, planes: Planes, cost: Cost) -> Vec<bd::Point> {
        let quality = |row: &Row| if planes == Planes::Luma { row.luma_db } else { row.ycbcr_db };
        let rate = |row: &Row| if cost == Cost::Link { row.link_kbps() } else { row.used_kbps };
        self.rows_of(clip, scheme).map(|row| bd::Point { bpp: rate(row), quality: quality(row) }).collect()
    }

    /// Returns the BD-rate in % of a scheme against an anchor on one clip; `None` if their curves share no range.
    #[must_use]
    pub fn rate(&self, clip: &str, [scheme, anchor]: [&str; 2], planes: Planes, cost: Cost) -> Option<f64> {
        let [test, anchor] = [scheme, anchor].map(|scheme| self.curve(clip, scheme, planes, cost));
        Some(bd::delta_rate(&anchor, &test)?.percent)
    }

    /// Returns means over all clips, one line for each scheme.
    #[must_use]
    pub fn summaries(&self, planes: Planes, cost: Cost) -> Vec<Summary> {
        let clips = self.clips();
        let summary = |scheme: &str| {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.scheme == scheme).collect();
            let mean_of = |value: fn(&Row) -> f64| mean(rows.iter().map(|row| value(row))).unwrap_or(f64::NAN);
            let rate =
                |anchor: &str| mean(clips.iter().filter_map(|clip| self.rate(clip, [scheme, anchor], planes, cost)));
            Summary {
                scheme: scheme.to_owned(),
                rates: ANCHOR_IDS.map(rate),
                luma_db: mean_of(|row| row.luma_db),
                ycbcr_db: mean_of(|row| row.ycbcr_db),
                least_db: mean_of(|row| row.luma_least_db),
                jump_db: mean_of(|row| row.luma_jump_db),
                used: mean_of(|row| row.used_kbps / row.kbps),
                largest_frame: rows.iter().map(|row| row.largest_frame).fold(0.0, f64::max),
            }
        };
        self.schemes().into_iter().map(summary).collect()
    }

    /// Averages the population figure over the clips: scheme, encodes, mean PSNR in dB, fraction of receivers without a
    /// picture.
    #[must_use]
    pub fn population(&self) -> Vec<(String, usize, f64, f64)> {
        let ways = distinct(self.outcomes.iter().map(|outcome| (outcome.scheme.as_str(), outcome.encodes)));
        let of = |(scheme, encodes): (&str, usize)| {
            let same = |outcome: &&Outcome| (outcome.scheme.as_str(), outcome.encodes) == (scheme, encodes);
            let all = || self.outcomes.iter().filter(same);
            let db = mean(all().map(|outcome| outcome.mean_db)).unwrap_or(f64::NAN);
            (scheme.to_owned(), encodes, db, mean(all().map(|outcome| outcome.unserved)).unwrap_or(0.0))
        };
        ways.into_iter().map(of).collect()
    }

    /// Writes `bd.md` and the plots into `folder`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        std::fs::write(folder.join("bd.md"), self.markdown()?)?;
        for clip in self.clips() {
            std::fs::write(folder.join(rate_plot(clip)), self.rate_chart(clip).svg()?)?;
            std::fs::write(folder.join(frame_plot(clip)), self.frame_chart(clip).svg()?)?;
        }
        Ok(())
    }

    /// Returns all tables.
    ///
    /// # Errors
    /// None: it writes into memory.
    pub fn markdown(&self) -> Result<String> {
        let mut text = format!(
            "# Video\n\nBD-rates in %: negative where the row needs fewer bits than the column at equal quality; means over {} clips. By the link: \
             at the rate that a receiver must have, which is that of its link, or what was used where that is more. By the bytes: at what was used. PSNR in dB, means over \
             the receivers of five rates, a factor of sixteen apart. Quality counts from frame {FIRST_FRAME} on, bytes from the first on. Used is the share of the receivers' \
             rates; the largest frame is in frame times at the receiver's rate.\n",
            self.clips().len()
        );
        let tables = [
            ("Luma, by the link that a receiver must have", Planes::Luma, Cost::Link),
            ("Luma and colour, 6:1:1, by the link", Planes::Ycbcr, Cost::Link),
            ("Luma, by the bytes that were used", Planes::Luma, Cost::Bytes),
        ];
        for (heading, planes, cost) in tables {
            write!(text, "\n## {heading}\n\n| |")?;
            ANCHOR_IDS.iter().try_for_each(|anchor| write!(text, " {anchor} |"))?;
            text += " luma | with colour | least luma | largest jump | used | largest frame |\n|---|";
            text += &"---:|".repeat(ANCHOR_IDS.len() + 6);
            for Summary { scheme, rates, luma_db, ycbcr_db, least_db, jump_db, used, largest_frame } in
                self.summaries(planes, cost)
            {
                write!(text, "\n| {scheme} |")?;
                rates.iter().try_for_each(|rate| write!(text, " {} |", percent(*rate)))?;
                write!(
                    text,
                    " {luma_db:.2} | {ycbcr_db:.2} | {least_db:.2} | {jump_db:.2} | {:.0} % | {largest_frame:.1} |",
                    100.0 * used
                )?;
            }
            text += "\n";
        }
        for anchor in &ANCHOR_IDS[..2] {
            self.write_clips(&mut text, anchor)?;
        }
        text += "\n## Population: mean PSNR of luma, means over clips\n\n| | encodes | dB | without a picture |\n|---|---:|---:|---:|\n";
        for (scheme, encodes, db, unserved) in self.population() {
            writeln!(text, "| {scheme} | {encodes} | {db:.2} | {:.1} % |", 100.0 * unserved)?;
        }
        text += "\n## A sixteenfold rise and fall of the rate\n\n| | | frames until within 1.5 dB | least over the low rate, dB |\n|---|---|---:|---:|\n";
        for Step { clip, scheme, rise_frames, fall_db } in &self.steps {
            let frames = rise_frames.map_or_else(|| "never".to_owned(), |frames| frames.to_string());
            writeln!(text, "| {scheme} | {clip} | {frames} | {fall_db:+.2} |")?;
        }
        Ok(text)
    }

    /// Writes the BD-rates of every clip against one anchor.
    fn write_clips(&self, text: &mut String, anchor: &str) -> Result<()> {
        let schemes = self.schemes();
        write!(text, "\n## Luma by clip, against {anchor}\n\n| |")?;
        schemes.iter().try_for_each(|scheme| write!(text, " {scheme} |"))?;
        write!(text, "\n|---|{}", "---:|".repeat(schemes.len()))?;
        for clip in self.clips() {
            write!(text, "\n| {clip} |")?;
            let rate = |scheme: &&str| percent(self.rate(clip, [scheme, anchor], Planes::Luma, Cost::Link));
            schemes.iter().try_for_each(|scheme| write!(text, " {} |", rate(scheme)))?;
        }
        *text += "\n";
        Ok(())
    }

    /// Draws PSNR over rate, of one clip. Variants whose curves would lie on another scheme's are left out.
    #[must_use]
    pub fn rate_chart(&self, clip: &str) -> Chart {
        let curve = |scheme: &str| Curve {
            name: style::name(scheme),
            points: self
                .curve(clip, scheme, Planes::Luma, Cost::Link)
                .iter()
                .map(|point| (point.bpp, point.quality))
                .collect(),
            stroke: Stroke { dots: true, ..style::stroke(scheme) },
            labels: Vec::new(),
        };
        let curves: Vec<Curve> = self
            .schemes()
            .into_iter()
            .filter(|scheme| is_in_plots(scheme))
            .map(curve)
            .filter(|curve| !curve.points.is_empty())
            .collect();
        let rates = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
        let ends = (rates().fold(f64::INFINITY, f64::min) / 1.1, rates().fold(0.0, f64::max) * 1.1);
        let x = Axis::log("rate of the link (kbit/s)", ends);
        let y = Axis::fitting("PSNR of luma (dB)", shown(&curves, ends));
        Chart { title: format!("{clip}: rate and PSNR"), x, y, marks: Vec::new(), curves }
    }

    /// Draws the PSNR of every frame at the middle rate, of one clip.
    #[must_use]
    pub fn frame_chart(&self, clip: &str) -> Chart {
        let of = || self.frames.iter().filter(|row| row.clip == clip);
        let curve = |scheme: &str| Curve {
            name: style::name(scheme),
            points: of().filter(|row| row.scheme == scheme).map(|row| (row.frame as f64, row.luma_db)).collect(),
            stroke: Stroke { dots: false, ..style::stroke(scheme) },
            labels: Vec::new(),
        };
        let curves: Vec<Curve> = distinct(of().map(|row| row.scheme.as_str())).into_iter().map(curve).collect();
        let kbps = of().next().map_or(0.0, |row| row.kbps);
        let last = of().map(|row| row.frame).max().unwrap_or(1) as f64;
        let y = Axis::fitting("PSNR of luma (dB)", shown(&curves, (0.0, last)));
        let settled = FIRST_FRAME as f64;
        let marks = vec![Mark { range: (settled, settled), label: "counted from here".to_owned() }];
        let title = format!("{clip}: every frame at {kbps:.0} kbit/s");
        Chart { title, x: Axis::linear("frame", (0.0, last)), y, marks, curves }
    }
}

/// Returns the file of a plot of rate and PSNR.
#[must_use]
pub fn rate_plot(clip: &str) -> String {
    format!("rate-{clip}.svg")
}

/// Returns the file of a plot of frames.
#[must_use]
pub fn frame_plot(clip: &str) -> String {
    format!("frames-{clip}.svg")
}

/// Formats a BD-rate for tables.
#[must_use]
pub fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:+.1}"))
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Returns each value once, in the order of the first.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    values.for_each(|value| {
        if !found.contains(&value) {
            found.push(value);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = |scheme: &str, octave: i32, rate: f64| {
            let kbps = 75.0 * 2_f64.powi(octave);
            let luma_db = 28.0 + 4.0 * f64::from(octave);
            Row {
                clip: "foreman".to_owned(),
                scheme: scheme.to_owned(),
                kbps,
                used_kbps: kbps * rate,
                luma_db,
                luma_least_db: luma_db - 1.0,
                luma_jump_db: 0.5,
                ycbcr_db: luma_db + 2.0,
                ycbcr_least_db: luma_db,
                ycbcr_jump_db: 0.4,
                largest_frame: 1.5,
            }
        };
        let rows =
            [("intra", 1.0), ("x264", 0.5)].into_iter().flat_map(|(id, rate)| (0..5).map(move |n| row(id, n, rate)));
        let frame = |frame| FrameRow {
            clip: "foreman".to_owned(),
            scheme: "intra".to_owned(),
            kbps: 300.0,
            frame,
            bytes: 9,
            luma_db: 30.0 + frame as f64,
        };
        let outcome = |encodes, mean_db| Outcome {
            clip: "foreman".to_owned(),
            scheme: "x264-ladder".to_owned(),
            encodes,
            mean_db,
            unserved: 0.25,
        };
        Report {
            rows: rows.collect(),
            frames: (0..12).map(frame).collect(),
            outcomes: vec![outcome(1, 30.0), outcome(3, 33.0)],
            steps: Vec::new(),
        }
    }

    #[test]
    fn half_the_bits_at_equal_quality_is_minus_half() {
        let rates = report().summaries(Planes::Luma, Cost::Bytes)[1].rates;
        assert!((rates[0].expect("they overlap") + 50.0).abs() < 1e-9, "{rates:?}");
        assert_eq!((rates[2], report().rate("foreman", ["x264", "vp9"], Planes::Luma, Cost::Link)), (None, None));
        let text = report().markdown().expect("writes");
        // At equal link both cost the same; at equal bytes x264 leaves half of the link unused.
        let (link, bytes) = text.split_once("by the bytes that were used").expect("two tables");
        assert!(link.contains("| x264 | +0.0 | +0.0 | - | - | 36.00 | 38.00 | 35.00 | 0.50 | 50 % | 1.5 |"), "{text}");
        assert!(bytes.contains("| x264 | -50.0 | +0.0 | - | - | 36.00 |"), "{text}");
        assert!(text.contains("| x264-ladder | 3 | 33.00 | 25.0 % |"), "{text}");
    }

    #[test]
    fn every_clip_has_two_plots() {
        let folder = tempfile::tempdir().expect("a folder");
        report().write(folder.path()).expect("writes");
        let read = |name: String| std::fs::read_to_string(folder.path().join(name)).expect("reads");
        assert!(read(rate_plot("foreman")).contains("x264"));
        assert!(read(frame_plot("foreman")).contains("every frame at 300 kbit/s"));
    }
}
