//! `bandwidths`: derives the committed table of receivers' bandwidths from traces.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use nestcast_benches::{receivers, table};

/// Collections by name and folder; all have equal weight.
const TRACE_COLLECTIONS: [(&str, &str); 3] =
    [("norway-3g", "norway_hsdpa_full"), ("fcc-2016", "fcc_2016"), ("oboe", "oboe")];

#[derive(Args)]
pub(crate) struct Options {
    /// Folder that holds the collections, one folder each.
    traces: PathBuf,
    /// Table to write.
    #[arg(long, default_value = super::BANDWIDTHS_FILE)]
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut bins = Vec::new();
    for (collection, folder) in TRACE_COLLECTIONS {
        bins.extend(receivers::tally(collection, &options.traces.join(folder))?);
    }
    table::write(&options.out, &bins)
}
