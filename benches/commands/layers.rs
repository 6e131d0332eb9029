//! `layers`: what layers of one encode, simulcast, an encode for each and one stream of nestcast give to receivers of
//! unequal rates.

use std::path::Path;

use anyhow::Result;
use nestcast_benches::{
    table,
    video::{
        self, Clip, Rates,
        layers::{self, Row},
    },
};
use nestcast_lab::ffmpeg::Ffmpeg;

use super::selection::Selection;

pub(crate) fn run(selection: &Selection, results: &Path) -> Result<()> {
    let ffmpeg = Ffmpeg::find()?;
    let (mut schemes, missing) = layers::all(&ffmpeg, std::env::var_os("PATH").as_deref());
    for name in missing {
        eprintln!("without the rows of {name}: it is not on the PATH; benches/README.md says how to build it");
    }
    selection.retain(&mut schemes, |scheme| scheme.id())?;
    let path = results.join("video/layers.csv");
    let mut rows: Vec<Row> = table::read_if_there(&path)?;
    for file in selection.clips()? {
        let clip = Clip::read(&ffmpeg, &file)?;
        let rates = Rates::of(&clip.name)?;
        for scheme in &schemes {
            eprintln!("{} {}", clip.name, scheme.id());
            let measured = layers::measure(&clip, &rates, scheme.as_ref())?;
            rows.retain(|row| row.clip != clip.name || row.scheme != scheme.id());
            rows.extend(measured);
            let clip = |name: &str| video::clips().position(|clip| clip == name);
            let scheme = |id: &str| layers::SCHEME_IDS.iter().position(|known| *known == id);
            rows.sort_by_key(|row| (clip(&row.clip), scheme(&row.scheme), row.receivers));
            // Saves what was measured, in case a later scheme fails.
            table::write(&path, &rows)?;
        }
    }
    Ok(())
}
