//! Runs of rivals, stored in files: they change only with the clip, the rate, the encoder and its setting.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{Clip, Run, Scheme, Screen, rivals::Rival};
use crate::table;

/// A rival whose runs are stored in a folder.
pub(super) struct Cached {
    rival: Rival,
    folder: PathBuf,
}

impl Cached {
    pub(super) fn new(rival: Rival, folder: &Path) -> Self {
        Self { rival, folder: folder.to_owned() }
    }

    /// Returns the file of one run.
    fn path(&self, clip: &Clip, kbps: f64) -> PathBuf {
        let key = Sha256::digest(format!("{} {}", clip.hash, self.rival.settings(clip, kbps)));
        let digits: String = key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{}-{}-{kbps:.0}-{digits}.csv", clip.name, self.rival.id()))
    }
}

impl Scheme for Cached {
    fn id(&self) -> &'static str {
        self.rival.id()
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        let missing: Vec<f64> = kbps.iter().copied().filter(|&kbps| !self.path(clip, kbps).exists()).collect();
        if !missing.is_empty() {
            for (&kbps, run) in missing.iter().zip(self.rival.run(clip, &missing)?) {
                let path = self.path(clip, kbps);
                // The rename writes the file whole or not at all, should the process end in between.
                let part = path.with_extension("part");
                table::write(&part, &run.frames)?;
                std::fs::rename(&part, &path).with_context(|| path.display().to_string())?;
            }
        }
        kbps.iter().map(|&kbps| Ok(Run { frames: table::read(&self.path(clip, kbps))? })).collect()
    }

    /// Codes again: frames are not stored.
    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        self.rival.show(clip, kbps, screen)
    }
}

#[cfg(test)]
mod tests {
    use nestcast_lab::ffmpeg::Ffmpeg;

    use super::{super::clip::tests::moving, *};

    #[test]
    fn a_kept_run_is_not_made_again() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let folder = tempfile::tempdir().expect("a folder");
        let cached = Cached::new(Rival::x264(&ffmpeg), folder.path());
        let clip = moving(64, 48, 30);
        let first = cached.run(&clip, &[100.0]).expect("codes");
        assert_eq!(cached.run(&clip, &[100.0]).expect("reads"), first);
        // A changed file shows that the run is read from it.
        let mut changed = first[0].clone();
        changed.frames[0].bytes = 12_345;
        table::write(&cached.path(&clip, 100.0), &changed.frames).expect("writes");
        let both = cached.run(&clip, &[100.0, 200.0]).expect("reads and codes");
        assert_eq!(both[0], changed);
        assert_ne!(cached.path(&clip, 100.0), cached.path(&moving(64, 48, 31), 100.0));
    }
}
