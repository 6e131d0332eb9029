//! How video looks, by VMAF and XPSNR, at the rates of the other tables.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
};

use anyhow::{Context, Result};
use nestcast_lab::{bd, rate_distortion::rounded, video::FIRST_FRAME};
use serde::{Deserialize, Serialize};

use super::{
    Clip, Scheme,
    judge::{Judge, Scores},
    report::{Cost, distinct, mean, percent},
};

/// The scheme that the others are compared with: x264 as people use it, tuned for the eye.
const ANCHOR_ID: &str = "x264";
/// A figure of XPSNR for frames that are equal, in dB: 8-bit samples with an error of one in 10,000.
const EQUAL_DB: f64 = 88.0;

/// A clip by one scheme at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the clip.
    pub clip: String,
    /// Id of the scheme.
    pub scheme: String,
    /// The receiver's rate in kbit/s.
    pub kbps: f64,
    /// The rate in kbit/s that was used, with all bytes counted.
    pub used_kbps: f64,
    /// Mean VMAF, 0 to 100.
    pub vmaf: f64,
    /// The least VMAF of a frame.
    pub vmaf_least: f64,
    /// Mean XPSNR of luma, in dB.
    pub xpsnr_db: f64,
}

/// Measures one scheme on one clip: a row for each rate in kbit/s.
///
/// # Errors
/// If an encoder, a decoder or the judge fails, or a temporary file cannot be written.
pub fn measure(judge: &Judge, clip: &Clip, scheme: &dyn Scheme, kbps: &[f64]) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let original = folder.path().join("original");
    clip.write_raw(&original)?;
    let paths: Vec<_> = (0..kbps.len()).map(|n| folder.path().join(format!("shown{n}"))).collect();
    let mut files = paths.iter().map(File::create).map(|file| Ok(BufWriter::new(file?))).collect::<Result<Vec<_>>>()?;
    let runs = scheme.show(clip, kbps, &mut |receiver, frame| {
        Ok(files.get_mut(receiver).context("no such receiver")?.write_all(frame.samples())?)
    })?;
    files.iter_mut().try_for_each(std::io::Write::flush)?;
    let mut rows = Vec::new();
    for ((&kbps, run), shown) in kbps.iter().zip(&runs).zip(&paths) {
        let scores = judge.compare(clip, &original, shown, folder.path())?;
        let used_kbps = clip.kbps(run.frames.iter().map(|frame| frame.bytes).sum());
        rows.push(Row::new(clip, scheme.id(), [kbps, used_kbps], &scores)?);
    }
    Ok(rows)
}

impl Row {
    fn new(clip: &Clip, scheme: &str, [kbps, used_kbps]: [f64; 2], scores: &Scores) -> Result<Self> {
        let settled = |all: &[f64]| all.get(FIRST_FRAME..).map(<[f64]>::to_vec).context("a run with too few frames");
        let (vmaf, xpsnr) = (settled(&scores.vmaf)?, settled(&scores.xpsnr_db)?);
        Ok(Self {
            clip: clip.name.clone(),
            scheme: scheme.to_owned(),
            kbps: rounded(kbps, 2),
            used_kbps: rounded(used_kbps, 2),
            vmaf: rounded(mean(vmaf.iter().copied()).context("no frames")?, 3),
            vmaf_least: rounded(vmaf.iter().copied().fold(f64::INFINITY, f64::min), 3),
            xpsnr_db: rounded(mean(xpsnr.iter().map(|db| db.min(EQUAL_DB))).context("no frames")?, 3),
        })
    }
}

/// A figure of a row.
type Figure = fn(&Row) -> f64;

/// Returns the BD-rate in % of a scheme against [`ANCHOR_ID`] on one clip; `None` if their curves share no range.
fn rate(rows: &[Row], clip: &str, scheme: &str, quality: Figure, cost: Cost) -> Option<f64> {
    let kbps = |row: &Row| if cost == Cost::Link { row.kbps.max(row.used_kbps) } else { row.used_kbps };
    let curve = |scheme: &str| -> Vec<bd::Point> {
        let rows = rows.iter().filter(|row| row.clip == clip && row.scheme == scheme);
        rows.map(|row| bd::Point { bpp: kbps(row), quality: quality(row) }).collect()
    };
    Some(bd::delta_rate(&curve(ANCHOR_ID), &curve(scheme))?.percent)
}

/// The names of the columns of [`lines`].
pub const HEADS: [&str; 7] = [
    "VMAF, by the link",
    "by the bytes",
    "XPSNR, by the link",
    "by the bytes",
    "mean VMAF",
    "mean of least VMAF",
    "mean XPSNR",
];

/// Returns a line for each scheme: its id, and the cells of [`HEADS`].
#[must_use]
pub fn lines(rows: &[Row]) -> Vec<(String, Vec<String>)> {
    let clips = distinct(rows.iter().map(|row| row.clip.as_str()));
    let line = |scheme: &str| {
        let mut cells = Vec::new();
        for quality in [(|row| row.vmaf) as Figure, |row| row.xpsnr_db] {
            for cost in [Cost::Link, Cost::Bytes] {
                let all: Vec<f64> = clips.iter().filter_map(|clip| rate(rows, clip, scheme, quality, cost)).collect();
                let shared = if all.len() < clips.len() { format!(" ({})", all.len()) } else { String::new() };
                cells.push(percent(mean(all.iter().copied())) + &shared);
            }
        }
        let of = |figure: Figure| mean(rows.iter().filter(|row| row.scheme == scheme).map(figure)).unwrap_or(f64::NAN);
        let (vmaf, least, xpsnr) = (of(|row| row.vmaf), of(|row| row.vmaf_least), of(|row| row.xpsnr_db));
        cells.extend([format!("{vmaf:.1}"), format!("{least:.1}"), format!("{xpsnr:.2}")]);
        (scheme.to_owned(), cells)
    };
    distinct(rows.iter().map(|row| row.scheme.as_str())).into_iter().map(line).collect()
}

/// Returns the table: a line for each scheme.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let clips = distinct(rows.iter().map(|row| row.clip.as_str())).len();
    let lines = lines(rows).into_iter().map(|(scheme, cells)| format!("| {scheme} | {} |\n", cells.join(" | ")));
    format!(
        "# How video looks\n\nVMAF (model v0.6.1, each clip in its own size) and XPSNR of luma, means over {clips} clips; frames and rates as in \
         [the other tables](bd.md). BD-rates in % against x264 zerolatency with its own tuning for the eye: negative where the row needs fewer bits. By the link: \
         at the rate that a receiver must have. By the bytes: at what was used. The least VMAF is that of the worst frame of a run. \
         A number in parentheses says on how many clips two curves share a range, if not on all.\n\n\
         | | {} |\n|---|{}\n{}",
        HEADS.join(" | "),
        "---:|".repeat(HEADS.len()),
        lines.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    fn row(scheme: &str, kbps: f64, vmaf: f64) -> Row {
        Row {
            clip: "foreman".to_owned(),
            scheme: scheme.to_owned(),
            kbps,
            used_kbps: kbps / 2.0,
            vmaf,
            vmaf_least: vmaf - 5.0,
            xpsnr_db: vmaf / 2.0,
        }
    }

    #[test]
    fn half_the_bits_at_equal_scores_is_minus_half() {
        let of = |scheme: &str, factor: f64| {
            [4.0_f64, 6.0, 8.0].map(|octave| row(scheme, factor * octave.exp2(), 10.0 * octave))
        };
        let rows = [of("nestcast", 0.5), of("x264", 1.0)].concat();
        let text = markdown(&rows);
        let line = "| nestcast | -50.0 | -50.0 | -50.0 | -50.0 | 60.0 | 55.0 | 30.00 |";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("| x264 | +0.0 |"), "{text}");
    }

    #[test]
    fn scores_count_when_rate_control_has_settled() {
        let clip = moving(16, 8, 30);
        let scores = |n: usize| if n < FIRST_FRAME { 10.0 } else { 90.0 - f64::from(u8::from(n == 20)) };
        let vmaf: Vec<f64> = (0..30).map(scores).collect();
        let all = Scores { xpsnr_db: vec![f64::INFINITY; 30], vmaf };
        let row = Row::new(&clip, "x264", [140.0, 100.0], &all).expect("enough frames");
        assert_eq!((row.vmaf, row.vmaf_least, row.xpsnr_db), (89.955, 89.0, EQUAL_DB));
        assert!(Row::new(&clip, "x264", [1.0; 2], &Scores { vmaf: vec![1.0], xpsnr_db: vec![1.0] }).is_err());
    }
}
