//! What all ways to code a clip have in common.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use nestcast_codec::{Picture, Restoration};
use nestcast_lab::ffmpeg::Ffmpeg;

use super::{
    Clip, Run,
    cache::Cached,
    embedded::{Embedded, embedded},
    ladder::Ladder,
    predicted::{Deep, Renewing},
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

/// nestcast's schemes with the linear decoder.
pub const EMBEDDED_SCHEMES: [&str; 4] = ["nestcast", "intra", "nestcast-2", "nestcast-3"];

/// nestcast's schemes with the deep decoder.
const DEEP_SCHEMES: [&str; 3] = ["nestcast-deep", "nestcast-2-deep", "nestcast-3-deep"];

/// nestcast's schemes in which every frame renews.
pub(super) const RENEWING_SCHEMES: [&str; 2] = ["nestcast-renews", "nestcast-3-renews"];

/// The ids of all schemes, in the order of tables and plots.
pub const SCHEME_IDS: [&str; 20] = [
    "nestcast",
    "intra",
    "nestcast-2",
    "nestcast-3",
    "nestcast-deep",
    "nestcast-2-deep",
    "nestcast-3-deep",
    "nestcast-renews",
    "nestcast-3-renews",
    "x264",
    "x264-once",
    "x264-psnr",
    "x264-psnr-once",
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

/// Returns whether a scheme is nestcast's, with either decoder.
#[must_use]
pub fn is_ours(scheme: &str) -> bool {
    EMBEDDED_SCHEMES.contains(&scheme) || is_deep(scheme) || is_renewing(scheme)
}

/// Returns whether a scheme is nestcast's with the deep decoder.
fn is_deep(scheme: &str) -> bool {
    DEEP_SCHEMES.contains(&scheme)
}

/// Returns whether a scheme is one of nestcast's in which every frame renews.
fn is_renewing(scheme: &str) -> bool {
    RENEWING_SCHEMES.contains(&scheme)
}

/// Returns whether plots show a scheme. Variants that differ from another scheme by a few percent are in tables alone.
pub(super) fn is_in_plots(scheme: &str) -> bool {
    !is_deep(scheme) && !is_renewing(scheme) && !scheme.ends_with("-once")
}

/// Returns all schemes, in the order of tables and plots: nestcast first. Runs of rivals are stored in the folder
/// `cache`. Without the [`network`] of the deep decoder, its schemes are left out.
///
/// [`network`]: super::network
pub fn all(ffmpeg: &Ffmpeg, cache: &Path, network: Option<&Arc<dyn Restoration>>) -> Vec<Box<dyn Scheme>> {
    let mut schemes: Vec<Box<dyn Scheme>> = Vec::new();
    for ours in embedded() {
        schemes.push(Box::new(ours));
    }
    if let Some(network) = network {
        for count in 1..=DEEP_SCHEMES.len() {
            schemes.push(Box::new(Deep { count, network: Arc::clone(network) }));
        }
    }
    schemes.push(Box::new(Renewing(1)));
    schemes.push(Box::new(Renewing(3)));
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
    use super::{super::predicted::network, *};

    #[test]
    fn ids_are_those_of_the_schemes_in_their_order() {
        let Ok(ffmpeg) = Ffmpeg::find() else { return println!("skipped: no ffmpeg") };
        let ids = |network| -> Vec<&str> {
            all(&ffmpeg, Path::new("unused"), network).iter().map(|scheme| scheme.id()).collect()
        };
        let without = SCHEME_IDS.iter().copied().filter(|scheme| !is_deep(scheme));
        assert_eq!(ids(None), without.collect::<Vec<_>>());
        match network() {
            Ok(network) => assert_eq!(ids(Some(&network)), SCHEME_IDS),
            Err(_) => println!("the deep decoder skipped: no ONNX Runtime"),
        }
        assert!(SCHEME_IDS.starts_with(&EMBEDDED_SCHEMES));
        assert_eq!(SCHEME_IDS[EMBEDDED_SCHEMES.len()..][..DEEP_SCHEMES.len()], DEEP_SCHEMES);
        assert!(SCHEME_IDS.iter().all(|id| crate::style::is_known(id)));
    }
}
