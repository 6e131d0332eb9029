//! `layers`: what layers of one encode, simulcast, an encode for each and one stream of nestcast give to receivers of
//! unequal rates.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use nestcast_benches::{
    table,
    video::{
        self, Clip, Rates,
        layers::{self, Row},
    },
};
use nestcast_lab::ffmpeg::Ffmpeg;

#[derive(Args)]
pub(crate) struct Options {
    /// Clips, or folders of y4m files.
    #[arg(required = true)]
    clips: Vec<PathBuf>,
    /// Measure only this scheme (may be repeated); the rows of the others stay as they are.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let ffmpeg = Ffmpeg::find()?;
    let (mut schemes, missing) = layers::all(&ffmpeg, std::env::var_os("PATH").as_deref());
    for name in missing {
        eprintln!("without the rows of {name}: it is not on the PATH; benches/README.md says how to build it");
    }
    schemes.retain(|scheme| options.only.is_empty() || options.only.iter().any(|name| name == scheme.id()));
    ensure!(!schemes.is_empty(), "no scheme of that name: {}", options.only.join(", "));
    let path = results.join("video/layers.csv");
    let mut rows: Vec<Row> = table::read_if_there(&path)?;
    for file in super::clips(&options.clips)? {
        let clip = Clip::read(&ffmpeg, &file)?;
        let rates = Rates::of(&clip.name)?;
        for scheme in &schemes {
            eprintln!("{} {}", clip.name, scheme.id());
            let measured = layers::measure(&clip, &rates, scheme.as_ref())?;
            rows.retain(|row| row.clip != clip.name || row.scheme != scheme.id());
            rows.extend(measured);
            let clip = |name: &str| video::clips().position(|clip| clip == name);
            let scheme = |id: &str| layers::IDS.iter().position(|known| *known == id);
            rows.sort_by_key(|row| (clip(&row.clip), scheme(&row.scheme), row.receivers));
            // Saves what was measured, in case a later scheme fails.
            table::write(&path, &rows)?;
        }
    }
    Ok(())
}
