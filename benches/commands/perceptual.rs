//! `perceptual`: how pictures look at equal bytes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{measure, perceptual::Codecs, picture, table};

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of PNG or JPEG pictures.
    #[arg(long)]
    images: PathBuf,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let (codecs, mut rows) = (Codecs::open()?, Vec::new());
    let paths = measure::pictures(&options.images)?;
    for (n, path) in paths.iter().enumerate() {
        let image = super::name(path);
        rows.extend(codecs.measure(&image, &picture::open(path)?)?);
        eprintln!("{}/{} {image}", n + 1, paths.len());
    }
    table::write(&results.join("kodak/perceptual.csv"), &rows)
}
