//! `nestcast demo`: a broadcast to three receivers behind unequal links, and one photograph cut at four places.

mod broadcast;
mod html;
mod jpeg;
mod picture;
mod thumbnail;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::args::Demo;
use crate::files::{self, Output};
use crate::live::is_video;
use crate::transforms::Model;

pub(crate) fn run(options: &Demo) -> Result<()> {
    let folder = &options.output;
    ensure!(!files::is_standard(folder), "the demo writes several files: name a folder with -o");
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file: name a folder with -o", folder.display());
    let model = Model::open(&options.common)?;
    match &options.source {
        Some(video) if !files::is_standard(video) && is_video(video)? => {
            files::print(&broadcast::run(options, Some(video), &model)?)
        }
        Some(image) => files::print(&picture::run(options, Some(image), &model)?),
        None => {
            // Fails now rather than after the broadcast.
            options.decoder.list().iter().try_for_each(|&decoder| model.decoder(decoder).map(drop))?;
            files::print(&broadcast::run(options, None, &model)?)?;
            files::print(&format!("\n{}", picture::run(options, None, &model)?))
        }
    }
}

/// Writes files into the demo's folder; never over its source.
fn save(options: &Demo, contents: &[(&str, Vec<u8>)]) -> Result<()> {
    let folder = &options.output;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let source: Vec<&Path> = options.source.iter().map(AsRef::as_ref).collect();
    contents.iter().try_for_each(|(name, bytes)| Output::new(&folder.join(name), &source)?.write(bytes))
}
