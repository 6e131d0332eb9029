//! The words of `nestcast index` and `nestcast search`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use nestcast_codec::DEFAULT_MAX_PIXELS;
use nestcast_lab::search::Coder;
use nestcast_models::Runtime;
use nestcast_models::codes::CodePackage;

use super::common::{Threads, code_model, count, named};

/// The default number of pictures that a search compares.
const USUAL_AMONG: NonZeroUsize = NonZeroUsize::new(16_384).expect("above 0");

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The folder of pictures (PNG, JPEG or .nst) with its subfolders; `index` reads the first 1024 bytes of a stream
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The index to write; it names pictures as DIR does, so search in the folder where you index
    #[arg(short, long, value_name = "INDEX")]
    pub(crate) output: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) codes: Codes,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The index that `nestcast index` wrote
    #[arg(value_name = "INDEX")]
    pub(crate) index: PathBuf,
    /// The picture to find: PNG, JPEG or the first bytes of a stream
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
    /// How many pictures to show
    #[arg(long, value_name = "N", default_value = "10", value_parser = count)]
    pub(crate) top: NonZeroUsize,
    /// Narrow the index to at least R pictures by their first bits, then show the nearest of these by all bits [default: 16384,
    /// or N of --top if that is larger]
    #[arg(long, value_name = "R", value_parser = count)]
    pub(super) among: Option<NonZeroUsize>,
    /// Draw the picture and the pictures that `search` found
    #[arg(long, value_name = "OUT.png", value_parser = |text: &str| named(text, "png"))]
    pub(crate) sheet: Option<PathBuf>,
    /// Print JSON, on standard error if OUT.png is `-`
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) codes: Codes,
}

impl Search {
    /// Returns the least number of pictures to which the search narrows the index.
    pub(crate) fn among(&self) -> NonZeroUsize {
        self.among.unwrap_or(self.top.max(USUAL_AMONG))
    }
}

/// The options that make codes of pictures.
#[derive(Debug, Args)]
pub(crate) struct Codes {
    /// The model for codes: the name of a built-in model, or its package's folder
    #[arg(long, value_name = "NAME|DIR", default_value = "thumb", value_parser = code_model)]
    pub(crate) model: String,
    /// Refuse pictures of more than N pixels, before nestcast allocates memory for them
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_PIXELS)]
    pub(crate) max_pixels: u64,
}

impl Codes {
    /// Opens the encoder of codes that `--model` names; up to the given number of threads use it at once.
    pub(crate) fn coder(&self, threads: usize) -> Result<Coder> {
        let package = CodePackage::find(&self.model).with_context(|| format!("--model {}", self.model))?;
        Coder::new(package, &Runtime::open()?, threads, self.max_pixels)
    }
}
