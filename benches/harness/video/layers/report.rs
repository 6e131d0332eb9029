//! The table of schemes for receivers of unequal rates.

use std::{fmt::Write as _, path::Path};

use anyhow::Result;

use super::{RECEIVER_COUNTS, Row, SCHEME_IDS};
use crate::style;

/// The scheme whose bytes and time are 1.
const UNIT_SCHEME: &str = "nestcast";

/// Figures of one scheme, means over clips.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Id of the scheme.
    pub scheme: String,
    /// For each number of receivers: mean PSNR in dB by the three rules (mean, strict, strict from the ninth frame on).
    pub db: [[f64; 3]; RECEIVER_COUNTS.len()],
    /// Fraction of the receivers for whom the lowest stream is too late, of the larger number: of all frames, and from
    /// the ninth on.
    pub late: [f64; 2],
    /// The largest frame over the mean one.
    pub largest_frame: f64,
    /// Bytes that are sent, by the number of receivers; those of one stream of nestcast are 1.
    pub bytes: [f64; RECEIVER_COUNTS.len()],
    /// Processor time for the smaller number of receivers; that of one stream of nestcast is 1.
    pub time: f64,
}

/// Returns the clips of a table.
#[must_use]
pub fn clips(rows: &[Row]) -> Vec<&str> {
    let mut clips: Vec<&str> = Vec::new();
    for row in rows {
        if !clips.contains(&row.clip.as_str()) {
            clips.push(&row.clip);
        }
    }
    clips
}

/// One clip's rows, by the number of receivers.
struct Pair<'a> {
    rows: [&'a Row; RECEIVER_COUNTS.len()],
    /// Those of [`UNIT_SCHEME`].
    units: [&'a Row; RECEIVER_COUNTS.len()],
}

/// Returns the figures of all schemes that were measured on all of the clips, in the order of [`SCHEME_IDS`].
#[must_use]
pub fn summaries(rows: &[Row], clips: &[&str]) -> Vec<Summary> {
    let of = |clip: &str, scheme: &str| -> Option<[&Row; RECEIVER_COUNTS.len()]> {
        let of = |receivers: usize| {
            rows.iter().find(|row| row.clip == clip && row.scheme == scheme && row.receivers == receivers)
        };
        let [few, many] = RECEIVER_COUNTS.map(of);
        Some([few?, many?])
    };
    let pair = |clip: &str, scheme: &str| Some(Pair { rows: of(clip, scheme)?, units: of(clip, UNIT_SCHEME)? });
    let summary = |scheme: &&str| {
        let pairs: Option<Vec<Pair<'_>>> = clips.iter().map(|clip| pair(clip, scheme)).collect();
        Some(Summary::new(scheme, &pairs?))
    };
    SCHEME_IDS.iter().filter_map(summary).collect()
}

impl Summary {
    fn new(scheme: &str, pairs: &[Pair<'_>]) -> Self {
        let mean = |value: &dyn Fn(&Pair<'_>) -> f64| pairs.iter().map(value).sum::<f64>() / pairs.len() as f64;
        let [few, many] = [0, RECEIVER_COUNTS.len() - 1];
        let rules: [fn(&Row) -> f64; 3] = [|row| row.mean_db, |row| row.strict_db, |row| row.settled_db];
        Self {
            scheme: scheme.to_owned(),
            db: std::array::from_fn(|n| rules.map(|db| mean(&|pair| db(pair.rows[n])))),
            late: [mean(&|pair| pair.rows[many].late), mean(&|pair| pair.rows[many].settled_late)],
            largest_frame: mean(&|pair| pair.rows[few].largest_frame),
            bytes: std::array::from_fn(|n| mean(&|pair| pair.rows[n].sent_kbps / pair.units[n].sent_kbps)),
            time: mean(&|pair| pair.rows[few].encode_s / pair.units[few].encode_s),
        }
    }
}

/// Returns the heads of the columns.
#[must_use]
pub fn heads() -> [&'static str; 8] {
    [
        "",
        "mean rule: 5 / 64 receivers, dB",
        "strict, dB",
        "strict from the ninth frame on, dB",
        "lowest too late for; from the ninth frame on",
        "largest frame / mean",
        "bytes",
        "encode time",
    ]
}

/// Returns the cells of a scheme, after its name.
#[must_use]
pub fn cells(summary: &Summary) -> Vec<String> {
    let rule = |n: usize| format!("{:.1} / {:.1}", summary.db[0][n], summary.db[1][n]);
    let [late, settled] = summary.late.map(|late| format!("{:.0} %", 100.0 * late));
    let [few, many] = summary.bytes.map(|bytes| format!("{bytes:.2}"));
    vec![
        rule(0),
        rule(1),
        rule(2),
        format!("{late}; {settled}"),
        format!("{:.1}", summary.largest_frame),
        format!("{few} / {many}"),
        format!("{:.2}", summary.time),
    ]
}

/// Writes `layers.md` into `folder`: means over all clips, and each clip.
///
/// # Errors
/// If the file cannot be written.
pub fn write(rows: &[Row], folder: &Path) -> Result<()> {
    Ok(std::fs::write(folder.join("layers.md"), markdown(rows)?)?)
}

fn markdown(rows: &[Row]) -> Result<String> {
    let all = clips(rows);
    let mut text = format!(
        "# Receivers of unequal rates\n\nWhat one encode, several, or one with layers gives to receivers a factor of sixteen apart. PSNR of luma, means over the receivers \
         and over {} clips, from the ninth frame on; bytes and processor time of encoding are over those of one stream of nestcast. docs/measurements/video.md explains the rules.\n",
        all.len()
    );
    let parts = [("All clips", all.clone())].into_iter().chain(all.iter().map(|&clip| (clip, vec![clip])));
    for (heading, clips) in parts {
        write!(text, "\n## {heading}\n\n|")?;
        heads().iter().try_for_each(|head| write!(text, " {head} |"))?;
        write!(text, "\n|---|{}", "---:|".repeat(heads().len() - 1))?;
        for summary in summaries(rows, &clips) {
            write!(text, "\n| {} | {} |", style::name(&summary.scheme), cells(&summary).join(" | "))?;
        }
        text += "\n";
    }
    Ok(text.replace("|  |", "| |"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(clip: &str, scheme: &str, receivers: usize, db: f64) -> Row {
        Row {
            clip: clip.to_owned(),
            scheme: scheme.to_owned(),
            receivers,
            mean_db: db,
            strict_db: db - 1.0,
            settled_db: db - 0.5,
            late: 0.25,
            settled_late: 0.125,
            largest_frame: 2.0,
            sent_kbps: db * 10.0,
            encode_s: db / 10.0,
        }
    }

    #[test]
    fn a_scheme_counts_where_it_was_measured_on_every_clip() {
        let mut rows = Vec::new();
        for (clip, db) in [("a", 30.0), ("b", 40.0)] {
            for receivers in RECEIVER_COUNTS {
                rows.push(row(clip, "nestcast", receivers, db));
                rows.push(row(clip, "x264-own", receivers, 2.0 * db - if receivers == 64 { db } else { 0.0 }));
            }
        }
        rows.push(row("a", "nestcast-2", 5, 1.0));
        let all = summaries(&rows, &clips(&rows));
        assert_eq!(all.iter().map(|summary| summary.scheme.as_str()).collect::<Vec<_>>(), ["nestcast", "x264-own"]);
        assert_eq!(all[1].db, [[70.0, 69.0, 69.5], [35.0, 34.0, 34.5]]);
        assert_eq!((all[1].bytes, all[1].time, all[0].time), ([2.0, 1.0], 2.0, 1.0));
        let text = markdown(&rows).expect("in memory");
        assert!(
            text.contains("| 70.0 / 35.0 | 69.0 / 34.0 | 69.5 / 34.5 | 25 %; 12 % | 2.0 | 2.00 / 1.00 | 2.00 |"),
            "{text}"
        );
        assert!(text.contains("\n## b\n"), "{text}");
    }
}
