//! `timings`: takes criterion's medians over into the results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{table, timing};

/// The variable that names the picture to time, as for `cargo bench`.
const IMAGE: &str = "NESTCAST_BENCH_IMAGE";

#[derive(Args)]
pub(crate) struct Options {
    /// Criterion's folder: `criterion` in the target folder.
    criterion: PathBuf,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let picture = std::env::var_os(IMAGE).map_or_else(|| "spiral_firework".into(), PathBuf::from);
    let picture = picture.file_stem().unwrap_or_default().to_string_lossy();
    table::write(&results.join("timing.csv"), &timing::collect(&options.criterion, &machine(), &picture)?)
}

/// Processor and cores, as far as the system tells.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{cores} x {model}")
}
