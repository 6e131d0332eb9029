//! `video`: clips by nestcast and by encoders of ffmpeg at five rates, and the candidates for ladders.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use clap::Args;
use nestcast_benches::{
    receivers, table,
    video::{
        self, Clip, Embedded, FrameRow, Rates, Row, Run, Scheme, Step,
        population::{self, Outcome},
        report::DRAWN_SCHEMES,
    },
};
use nestcast_codec::Restoration;
use nestcast_lab::ffmpeg::Ffmpeg;

use super::selection::Selection;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Folder of earlier runs of rivals; a run is repeated when its encoder or setting changes.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/video-rivals"))]
    cache: PathBuf,
}

/// The tables of `results/video`.
#[derive(Default)]
struct Tables {
    rows: Vec<Row>,
    frames: Vec<FrameRow>,
    candidates: Vec<Row>,
    outcomes: Vec<Outcome>,
    steps: Vec<Step>,
}

/// Returns the network of the deep decoder, or says that its rows are left out.
pub(super) fn deep() -> Option<Arc<dyn Restoration>> {
    let said = |error| eprintln!("without the rows of the deep decoder: {error:#}");
    video::network().map_err(said).ok()
}

pub(crate) fn run(options: &Options, results: &Path) -> Result<()> {
    let ffmpeg = Ffmpeg::find()?;
    let receivers = receivers::read(Path::new(super::BANDWIDTHS_FILE))?;
    let mut schemes = video::all(&ffmpeg, &options.cache, deep().as_ref());
    options.selection.retain(&mut schemes, |scheme| scheme.id())?;
    let rendition = video::rendition(&ffmpeg, &options.cache);
    let folder = results.join("video");
    let mut tables = Tables::read(&folder)?;
    let paths = options.selection.clips()?;
    for (n, path) in paths.iter().enumerate() {
        let clip = Clip::read(&ffmpeg, path)?;
        let rates = Rates::of(&clip.name)?;
        for scheme in &schemes {
            eprintln!("{}/{} {} {}", n + 1, paths.len(), clip.name, scheme.id());
            tables.measure(&clip, &rates, scheme.as_ref())?;
            if let Some(scheme) = scheme.embedded() {
                eprintln!("{}/{} {} {}, rises and falls", n + 1, paths.len(), clip.name, scheme.id());
                tables.steps(&clip, &rates, scheme)?;
            }
        }
        if options.selection.has_all_schemes() {
            eprintln!("{}/{} {} renditions of ladders", n + 1, paths.len(), clip.name);
            tables.renditions(&clip, &rates, rendition.as_ref())?;
        }
        tables.population(&clip, &receivers)?;
        // Saves what was measured, in case a later clip fails.
        tables.write(&folder)?;
    }
    Ok(())
}

impl Tables {
    fn read(folder: &Path) -> Result<Self> {
        Ok(Self {
            rows: table::read_if_there(&folder.join("rates.csv"))?,
            frames: table::read_if_there(&folder.join("frames.csv"))?,
            candidates: table::read_if_there(&folder.join("renditions.csv"))?,
            outcomes: table::read_if_there(&folder.join("population.csv"))?,
            steps: table::read_if_there(&folder.join("steps.csv"))?,
        })
    }

    fn write(&mut self, folder: &Path) -> Result<()> {
        let clip = |name: &str| video::clips().position(|clip| clip == name);
        self.rows.sort_by_key(|row| video::place(&row.clip, &row.scheme));
        self.frames.sort_by_key(|row| video::place(&row.clip, &row.scheme));
        self.candidates.sort_by_key(|row| video::place(&row.clip, &row.scheme));
        self.outcomes.sort_by_key(|outcome| clip(&outcome.clip));
        self.steps.sort_by_key(|step| video::place(&step.clip, &step.scheme));
        table::write(&folder.join("rates.csv"), &self.rows)?;
        table::write(&folder.join("frames.csv"), &self.frames)?;
        table::write(&folder.join("renditions.csv"), &self.candidates)?;
        table::write(&folder.join("population.csv"), &self.outcomes)?;
        table::write(&folder.join("steps.csv"), &self.steps)
    }

    /// Replaces the rows of one clip and scheme.
    fn measure(&mut self, clip: &Clip, rates: &Rates, scheme: &dyn Scheme) -> Result<()> {
        let id = scheme.id();
        self.rows.retain(|row| row.clip != clip.name || row.scheme != id);
        self.frames.retain(|row| row.clip != clip.name || row.scheme != id);
        let runs = match scheme.embedded().filter(|scheme| scheme.has_renditions()) {
            Some(scheme) => self.between(clip, rates, scheme)?,
            None => scheme.run(clip, &rates.receivers)?,
        };
        for (&kbps, run) in rates.receivers.iter().zip(&runs) {
            self.rows.push(Row::new(clip, id, kbps, run)?);
            if kbps == rates.middle() && DRAWN_SCHEMES.contains(&id) {
                self.frames.extend(FrameRow::all(clip, id, kbps, run));
            }
        }
        Ok(())
    }

    /// Measures the receivers and those just below them, and replaces the latter's rows.
    fn between(&mut self, clip: &Clip, rates: &Rates, scheme: &dyn Embedded) -> Result<Vec<Run>> {
        let below = rates.below();
        let mut runs = scheme.at_rates(clip, &rates.receivers, &[&rates.receivers[..], &below].concat())?;
        let others = runs.split_off(rates.receivers.len());
        self.candidates.retain(|row| row.clip != clip.name || row.scheme != scheme.id());
        for (kbps, run) in below.into_iter().zip(&others) {
            self.candidates.push(Row::new(clip, scheme.id(), kbps, run)?);
        }
        Ok(runs)
    }

    /// Replaces the rises and falls of one clip and scheme.
    fn steps(&mut self, clip: &Clip, rates: &Rates, scheme: &dyn Embedded) -> Result<()> {
        self.steps.retain(|step| step.clip != clip.name || step.scheme != scheme.id());
        self.steps.push(Step::new(clip, rates, scheme)?);
        Ok(())
    }

    /// Replaces the candidates for ladders of one clip.
    fn renditions(&mut self, clip: &Clip, rates: &Rates, rendition: &dyn Scheme) -> Result<()> {
        let ours = [rendition.id(), population::MEAN_COLOUR];
        self.candidates.retain(|row| row.clip != clip.name || !ours.contains(&row.scheme.as_str()));
        let runs = rendition.run(clip, &rates.renditions)?;
        let row = |(&kbps, run): (&f64, &Run)| Row::new(clip, rendition.id(), kbps, run);
        self.candidates.push(population::mean_colour(clip)?);
        self.candidates.extend(rates.renditions.iter().zip(&runs).map(row).collect::<Result<Vec<_>>>()?);
        Ok(())
    }

    /// Replaces the population outcomes of one clip.
    fn population(&mut self, clip: &Clip, receivers: &[receivers::Receiver]) -> Result<()> {
        self.outcomes.retain(|outcome| outcome.clip != clip.name);
        self.outcomes.extend(population::outcomes(&clip.name, &self.rows, &self.candidates, receivers)?);
        Ok(())
    }
}
