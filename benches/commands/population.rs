//! `population`: measures nestcast's cuts, and the rivals' candidates if the results lack them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{measure, ours::Ours, picture, population, receivers, table};
use nestcast_lab::rate_distortion::Row;

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of PNG or JPEG pictures.
    #[arg(long)]
    images: PathBuf,
    /// Measure the rivals' candidates again, too.
    #[arg(long)]
    rivals: bool,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let paths = measure::pictures(&options.images)?;
    let receivers = receivers::read(Path::new(super::BANDWIDTHS_FILE))?;
    let folder = results.join("population");
    let known = folder.join("candidates.csv");
    let mut candidates: Vec<Row> = if known.exists() && !options.rivals { table::read(&known)? } else { Vec::new() };
    let done: BTreeSet<String> = candidates.iter().map(|row| row.image.clone()).collect();
    let ours = Ours::open(2)?;
    let mut cuts = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let image = super::name(path);
        eprintln!("{}/{} {image}", n + 1, paths.len());
        let picture = picture::open(path)?;
        cuts.extend(population::cuts(&ours, &image, &picture, &receivers)?);
        if !done.contains(&image) {
            candidates.extend(population::candidates(&image, &picture)?);
        }
    }
    // A table of other pictures would change the means.
    let measured: BTreeSet<&str> = cuts.iter().map(|row| row.image.as_str()).collect();
    candidates.retain(|row| measured.contains(row.image.as_str()));
    table::write(&folder.join("nestcast.csv"), &cuts)?;
    table::write(&known, &candidates)
}
