//! VMAF and XPSNR by an `ffmpeg` that has both filters.
//!
//! VMAF (Netflix, model v0.6.1) predicts what people say of a video's quality, 0 to 100. Its model assumes a screen of
//! 1080 lines, seen from three times its height. A clip is judged in its own size, so as a window on such a screen.
//! XPSNR (Helmrich et al. 2020) is a PSNR that weighs errors by how much the picture around them hides.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Clip, rivals::input};

/// Both filters on one pair of videos: input 0 is the original. VMAF takes the original second, XPSNR first.
const FILTERS: &str = "[0:v]split[original1][original2];[1:v]split[shown1][shown2];\
                       [shown1][original1]libvmaf=log_fmt=json:log_path=vmaf.json:n_threads=2[by_vmaf];\
                       [original2][shown2]xpsnr=stats_file=xpsnr.txt[by_xpsnr]";

/// A program that measures.
#[derive(Clone, Debug)]
pub struct Judge {
    program: PathBuf,
}

/// Figures of every frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// VMAF, 0 to 100.
    pub vmaf: Vec<f64>,
    /// XPSNR of luma in dB; infinite where a frame is equal.
    pub xpsnr_db: Vec<f64>,
}

#[derive(Deserialize)]
struct Log {
    frames: Vec<LogFrame>,
}

#[derive(Deserialize)]
struct LogFrame {
    metrics: Metrics,
}

#[derive(Deserialize)]
struct Metrics {
    vmaf: f64,
}

impl Judge {
    /// Takes an `ffmpeg`.
    ///
    /// # Errors
    /// If it does not run, or lacks a filter.
    pub fn new(program: &Path) -> Result<Self> {
        let listed = Command::new(program).args(["-hide_banner", "-filters"]).output();
        let listed = listed.with_context(|| format!("{} does not run", program.display()))?;
        let filters = String::from_utf8_lossy(&listed.stdout).into_owned();
        for filter in ["libvmaf", "xpsnr"] {
            let has = filters.lines().any(|line| line.split_whitespace().nth(1) == Some(filter));
            let name = program.display();
            ensure!(has, "{name} has no filter {filter}: name another ffmpeg by --judge (benches/README.md)");
        }
        // It runs in another folder later. A bare name is looked up on the search path.
        let has_folder = program.components().count() > 1;
        let program = if has_folder { std::path::absolute(program)? } else { program.to_owned() };
        Ok(Self { program })
    }

    /// Compares what was shown with the clip: raw samples of all frames, in the file `shown` and in the file `original`.
    /// `folder` gets the program's logs.
    ///
    /// # Errors
    /// If the program fails, or does not measure every frame.
    pub(super) fn compare(&self, clip: &Clip, original: &Path, shown: &Path, folder: &Path) -> Result<Scores> {
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(&self.program).args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
        for file in [original, shown] {
            command.args(input(clip)).arg(file);
        }
        let outputs = ["-map", "[by_vmaf]", "-f", "null", "-", "-map", "[by_xpsnr]", "-f", "null", "-"];
        command.args(["-filter_complex", FILTERS]).args(outputs.map(OsStr::new));
        // The filters' options name files without folders, whose special characters they would interpret.
        let output = command.current_dir(folder).stdout(Stdio::null()).output().context("the judge does not run")?;
        ensure!(output.status.success(), "the judge failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
        let scores = Scores { vmaf: vmaf(&read("vmaf.json")?)?, xpsnr_db: xpsnr(&read("xpsnr.txt")?)? };
        let (vmaf, xpsnr, frames) = (scores.vmaf.len(), scores.xpsnr_db.len(), clip.frames.len());
        ensure!([vmaf, xpsnr] == [frames; 2], "the judge measured {vmaf} and {xpsnr} frames of {frames}");
        Ok(scores)
    }
}

/// Parses libvmaf's log in JSON.
fn vmaf(log: &str) -> Result<Vec<f64>> {
    let log: Log = serde_json::from_str(log).context("no log of libvmaf")?;
    Ok(log.frames.into_iter().map(|frame| frame.metrics.vmaf).collect())
}

/// Parses lines such as `n:    2  XPSNR y: 25.7822  XPSNR u: 33.3431  XPSNR v: 33.7097`; those without `n:` sum up.
fn xpsnr(stats: &str) -> Result<Vec<f64>> {
    let frames = stats.lines().filter(|line| line.starts_with("n:"));
    let luma = |line: &str| line.split_once("XPSNR y:")?.1.split_whitespace().next()?.parse().ok();
    frames.map(|line| luma(line).with_context(|| format!("`{line}` has no XPSNR of luma"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_have_a_figure_for_each_frame() {
        let log = r#"{"version": "x", "frames": [{"frameNum": 0, "metrics": {"vmaf": 73.5, "integer_adm2": 0.9}},
                      {"frameNum": 1, "metrics": {"vmaf": 70.25}}], "pooled_metrics": {}}"#;
        assert_eq!(vmaf(log).expect("parses"), [73.5, 70.25]);
        assert!(vmaf("{}").is_err());
        let stats = "n:    1  XPSNR y: 34.0356  XPSNR u: 43.0907  XPSNR v: 42.7702\n\
                     n:    2  XPSNR y: inf  XPSNR u: inf  XPSNR v: inf\n\n\
                     XPSNR average, 2 frames  y: 36.0  u: 1  v: 1  (minimum: 1)\n";
        assert_eq!(xpsnr(stats).expect("parses"), [34.0356, f64::INFINITY]);
        assert!(xpsnr("n: 1 XPSNR u: 3").is_err());
    }

    #[test]
    fn a_program_without_the_filters_is_named() {
        let error = Judge::new(Path::new("true")).expect_err("no ffmpeg");
        assert!(error.to_string().starts_with("true has no filter libvmaf"), "{error}");
        assert!(Judge::new(Path::new("no such program")).is_err());
    }
}
