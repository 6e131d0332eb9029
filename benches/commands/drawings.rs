//! `drawings`: the pictures that a program draws, as PNG files for `eval`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use image::ExtendedColorType;
use nestcast_lab::drawings;

#[derive(Args)]
pub(crate) struct Options {
    /// Folder for the PNG files; it is created if it does not exist.
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    for (name, drawing) in drawings::all()? {
        let path: &Path = &options.out.join(format!("{name}.png"));
        let (width, height) = (u32::try_from(drawing.size().width())?, u32::try_from(drawing.size().height())?);
        image::save_buffer(path, drawing.samples(), width, height, ExtendedColorType::Rgb8)
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}
