//! The coder that `--model` names.

use anyhow::{Context, Result};
use nestcast_lab::search::Coder;
use nestcast_models::Runtime;
use nestcast_models::codes::CodePackage;

use crate::args::Codes;

/// What makes codes with the model that `--model` names, on so many threads at once.
pub(super) fn coder(options: &Codes, threads: usize) -> Result<Coder> {
    let package = CodePackage::find(&options.model).with_context(|| format!("--model {}", options.model))?;
    Coder::new(package, &Runtime::open()?, threads, options.max_pixels)
}
