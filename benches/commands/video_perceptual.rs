//! `video-perceptual`: VMAF and XPSNR of clips by nestcast and by encoders of ffmpeg at five rates.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{
    table,
    video::{self, Clip, Rates, judge::Judge, perceptual},
};
use nestcast_lab::ffmpeg::Ffmpeg;

use super::selection::Selection;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// An ffmpeg with the filters libvmaf and xpsnr. The rivals' encoders remain those of the installed ffmpeg.
    #[arg(long, value_name = "PROGRAM", default_value = "ffmpeg")]
    judge: PathBuf,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let (ffmpeg, judge) = (Ffmpeg::find()?, Judge::new(&options.judge)?);
    // The rivals' runs are not taken from a folder, because it has no frames.
    let mut schemes = video::all(&ffmpeg, Path::new(""), super::video::deep().as_ref());
    options.selection.retain(&mut schemes, |scheme| scheme.id())?;
    let table = results.join("video/perceptual.csv");
    let mut rows: Vec<perceptual::Row> = table::read_if_there(&table)?;
    let paths = options.selection.clips()?;
    for (n, path) in paths.iter().enumerate() {
        let clip = Clip::read(&ffmpeg, path)?;
        let rates = Rates::of(&clip.name)?;
        for scheme in &schemes {
            eprintln!("{}/{} {} {}", n + 1, paths.len(), clip.name, scheme.id());
            let measured = perceptual::measure(&judge, &clip, scheme.as_ref(), &rates.receivers)?;
            rows.retain(|row| row.clip != clip.name || row.scheme != scheme.id());
            rows.extend(measured);
            // Saves what was measured, in case a later scheme fails.
            rows.sort_by_key(|row| video::place(&row.clip, &row.scheme));
            table::write(&table, &rows)?;
        }
    }
    Ok(())
}
