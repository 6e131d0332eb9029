//! `rivals`: rate and distortion of the rivals, and published curves for comparison.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Result, ensure};
use clap::Args;
use nestcast_benches::{measure, picture, published, report::PUBLISHED_CURVES, rivals, table};
use nestcast_lab::rate_distortion::Row;

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of PNG or JPEG pictures to measure the rivals on.
    #[arg(long, required_unless_present = "published")]
    images: Option<PathBuf>,
    /// Measure only this rival (may be repeated); the rows of the others stay as they are.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Copy published curves from a collection (JSON).
    #[arg(long)]
    published: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let folder = results.join("kodak");
    if let Some(collection) = &options.published {
        table::write(&folder.join("published.csv"), &published::read_json(collection, &PUBLISHED_CURVES)?)?;
    }
    let Some(images) = &options.images else { return Ok(()) };
    let path = folder.join("rivals.csv");
    let mut rows: Vec<Row> = if path.exists() && !options.only.is_empty() { table::read(&path)? } else { Vec::new() };
    rows.retain(|row| !options.only.contains(&row.decoder));
    rows.extend(measured(&measure::pictures(images)?, &options.only)?);
    table::write(&path, &rows)
}

fn measured(paths: &[PathBuf], only: &[String]) -> Result<Vec<Row>> {
    let mut chosen = rivals::all();
    chosen.retain(|rival| only.is_empty() || only.iter().any(|name| name == rival.name()));
    ensure!(!chosen.is_empty(), "no rival of that name: {}", only.join(", "));
    let mut rows = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let picture = picture::open(path)?;
        let image = super::name(path);
        for rival in &chosen {
            let start = Instant::now();
            rows.extend(measure::sweep(rival.as_ref(), &image, &picture)?);
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{}/{} {image} {} ({seconds:.1} s)", n + 1, paths.len(), rival.name());
        }
    }
    Ok(rows)
}
