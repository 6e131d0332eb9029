//! One file a command; what is more than reading, running and writing is in the harness.

pub(crate) mod bandwidths;
pub(crate) mod population;
pub(crate) mod report;
pub(crate) mod rivals;
pub(crate) mod scaling;
pub(crate) mod sheets;
pub(crate) mod timings;

/// The table of bandwidths that is committed.
const BANDWIDTHS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/bandwidths.csv");

/// File name of a picture, as tables have it.
fn name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
