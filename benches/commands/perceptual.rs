//! `perceptual`: how pictures look at equal bytes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{
    measure,
    perceptual::{self, Codecs},
    picture, table,
};

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of PNG or JPEG pictures.
    #[arg(long)]
    images: PathBuf,
    /// Measure the rivals, which change only with their libraries; otherwise nestcast. The others' rows of these
    /// pictures stay, and rows of other pictures are removed.
    #[arg(long)]
    rivals: bool,
    /// Measure only this rival (may be repeated); the rows of the others stay as they are.
    #[arg(long, value_name = "NAME", requires = "rivals")]
    only: Vec<String>,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let codecs = if options.rivals { Codecs::rivals(&options.only)? } else { Codecs::ours()? };
    let names = codecs.names();
    let (paths, table) = (measure::pictures(&options.images)?, results.join("kodak/perceptual.csv"));
    let (kept, mut rows) = (table::read_if_there(&table)?, Vec::new());
    for (n, path) in paths.iter().enumerate() {
        let image = super::name(path);
        let measured = codecs.measure(&image, &picture::open(path)?)?;
        rows.extend(perceptual::renewed(&kept, &image, &names, measured));
        eprintln!("{}/{} {image}", n + 1, paths.len());
    }
    table::write(&table, &rows)
}
