//! What all ways to code a clip have in common.

use std::path::Path;

use anyhow::Result;
use nestcast_codec::Picture;
use nestcast_lab::ffmpeg::Ffmpeg;

use super::{
    Clip, Run,
    cache::Cached,
    embedded::{Embedded, embedded},
    ladder::Ladder,
    rates::clips,
    rivals::Rival,
};

/// Takes every frame that a receiver shows: the index of the receiver's rate, and the frame. The frames of one receiver
/// come in their order; those of different receivers may alternate.
pub type Screen<'a> = &'a mut dyn FnMut(usize, &Picture) -> Result<()>;

/// A way to serve receivers of several rates with a clip.
pub trait Scheme {
    /// Returns the short name, the same in every table and plot.
    fn id(&self) -> &'static str;

    /// Returns what receivers of these rates in kbit/s show: one run for each rate.
    ///
    /// # Errors
    /// If an encoder or decoder fails.
    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>>;

    /// Does the same, and gives each shown frame to `screen`.
    ///
    /// # Errors
    /// If an encoder or decoder fails, or `screen` does.
    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>>;

    /// Returns the scheme itself, if it codes a clip once for all receivers.
    fn embedded(&self) -> Option<&dyn Embedded> {
        None
    }
}

/// nestcast's schemes.
pub const EMBEDDED_SCHEMES: [&str; 4] = ["nestcast", "intra", "nestcast-2", "nestcast-3"];

/// The ids of all schemes, in the order of tables and plots.
pub const SCHEME_IDS: [&str; 13] = [
    "nestcast",
    "intra",
    "nestcast-2",
    "nestcast-3",
    "x264",
    "x264-psnr",
    "x264-refresh",
    "x264-free",
    "vp9",
    "aom",
    "aom-tight",
    "svt-av1",
    "x264-ladder",
];

/// Returns where a row of this clip and scheme stands in tables.
#[must_use]
pub fn place(clip: &str, scheme: &str) -> (Option<usize>, Option<usize>) {
    (clips().position(|known| known == clip), SCHEME_IDS.iter().position(|known| *known == scheme))
}

/// Returns all schemes, in the order of tables and plots: nestcast first. Runs of rivals are stored in the folder
/// `cache`.
pub fn all(ffmpeg: &Ffmpeg, cache: &Path) -> Vec<Box<dyn Scheme>> {
    let mut schemes: Vec<Box<dyn Scheme>> = Vec::new();
    for ours in embedded() {
        schemes.push(Box::new(ours));
    }
    for rival in Rival::all(ffmpeg) {
        schemes.push(Box::new(Cached::new(rival, cache)));
    }
    schemes.push(Box::new(Ladder::new(Cached::new(Rival::x264(ffmpeg), cache))));
    schemes
}

/// Returns the encoder of the ladders' renditions.
pub fn rendition(ffmpeg: &Ffmpeg, cache: &Path) -> Box<dyn Scheme> {
    Box::new(Cached::new(Rival::x264(ffmpeg), cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_schemes_in_their_order() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let ids: Vec<&str> = all(&ffmpeg, Path::new("unused")).iter().map(|scheme| scheme.id()).collect();
        assert_eq!(ids, SCHEME_IDS);
        assert!(SCHEME_IDS.starts_with(&EMBEDDED_SCHEMES));
        assert!(SCHEME_IDS.iter().all(|id| crate::style::is_known(id)));
    }
}
