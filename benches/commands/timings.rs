//! `timings`: copies criterion's medians into the results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{table, timing};

#[derive(Args)]
pub(crate) struct Options {
    /// Criterion's folder: `criterion` in the target folder.
    criterion: PathBuf,
    /// The picture that was coded, as named by `NESTCAST_BENCH_IMAGE`.
    #[arg(long, default_value = "spiral_firework.png")]
    picture: PathBuf,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let picture = options.picture.file_stem().unwrap_or_default().to_string_lossy();
    table::write(&results.join("timing.csv"), &timing::collect(&options.criterion, &machine(), &picture)?)
}

/// Returns processor and cores, as far as the system reports them.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{cores} x {model}")
}
