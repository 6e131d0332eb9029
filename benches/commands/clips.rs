//! `clips`: makes the clips that are derived from published files.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use nestcast_benches::video::sources::CLIP_SOURCES;
use nestcast_lab::ffmpeg::Ffmpeg;

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of the published files; benches/video/README.md names their origin.
    sources: PathBuf,
    /// Folder to write the clips into.
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let ffmpeg = Ffmpeg::find()?;
    std::fs::create_dir_all(&options.out)?;
    for source in CLIP_SOURCES {
        match source.make(&ffmpeg, &options.sources, &options.out)? {
            Some(path) => println!("{}", path.display()),
            None => {
                println!("skipped {}: {} is not in {}", source.clip, source.file, options.sources.display());
            }
        }
    }
    Ok(())
}
