//! Ordered binary codes of pictures: `nestcast index` and `search`, and files of one code.

mod code_file;
mod index;
mod search;

use anyhow::{Context, Result};
use nestcast_lab::search::Coder;
use nestcast_models::Runtime;
use nestcast_models::codes::CodePackage;

pub(crate) use code_file::{cut, decode, encode, inspect, is_code};
pub(crate) use index::run as index;
pub(crate) use search::run as search;

use crate::args::Codes;

/// What makes codes with the model that `--model` names, on so many threads at once.
fn coder(options: &Codes, threads: usize) -> Result<Coder> {
    let package = CodePackage::find(&options.model).with_context(|| format!("--model {}", options.model))?;
    Coder::new(package, &Runtime::open()?, threads, options.max_pixels)
}
