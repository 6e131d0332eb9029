//! One file for each command. A command only reads, runs and writes; the rest is in the harness.

pub(crate) mod bandwidths;
pub(crate) mod clips;
pub(crate) mod drawings;
pub(crate) mod layers;
pub(crate) mod perceptual;
pub(crate) mod population;
pub(crate) mod report;
pub(crate) mod rivals;
pub(crate) mod scaling;
pub(crate) mod selection;
pub(crate) mod sheets;
pub(crate) mod timings;
pub(crate) mod video;
pub(crate) mod video_perceptual;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The committed table of bandwidths.
const BANDWIDTHS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/bandwidths.csv");

/// Returns a picture's file name, as tables write it.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the files of a folder with an extension, by name; none if the folder does not exist.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    // By stem, so that `nestcast` precedes `nestcast-ssim`.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    Ok(paths)
}
