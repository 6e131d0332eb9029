//! Ordered binary codes of pictures: `nestcast index` and `search`, and files of one code.

mod code_file;
mod index;
mod search;

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};
use nestcast_codec::{Decoder, ModelId, Picture};
use nestcast_media::{Kind, to_rgb};
use nestcast_models::codes::{CodeEncoder, CodePackage};
use nestcast_models::{Package, Runtime};
use nestcast_retrieval as retrieval;

pub(crate) use code_file::{cut, decode, encode, inspect, is_code};
pub(crate) use index::run as index;
pub(crate) use search::run as search;

use crate::args::Codes;
use crate::files::{self, Input};
use crate::streams::StreamFile;
use crate::{pictures, transforms};

/// Bytes of a stream that are read: what is behind them changes little in 32x32 pixels.
const STREAM_BYTES: usize = 1024;

/// Makes codes of files.
struct Coder {
    package: CodePackage,
    encoder: CodeEncoder,
    reader: Reader,
}

/// Reads pictures, and what the first bytes of streams show.
struct Reader {
    max_pixels: u64,
    /// The built-in packages, opened for the first stream.
    packages: OnceLock<Vec<Package>>,
}

/// What is searched for: the code of a picture, and those of what it may be a crop of.
struct Query {
    whole: Vec<u8>,
    uncropped: Vec<Vec<u8>>,
}

impl Coder {
    /// Opens the model that `--model` names, for so many runs at once.
    fn open(options: &Codes, runs: usize) -> Result<Self> {
        let package = CodePackage::find(&options.model).with_context(|| format!("--model {}", options.model))?;
        let encoder = package.encoder(&Runtime::open()?, runs)?;
        Ok(Self { package, encoder, reader: Reader { max_pixels: options.max_pixels, packages: OnceLock::new() } })
    }

    /// The model's id, as indices have it.
    const fn model(&self) -> retrieval::ModelId {
        retrieval::ModelId(self.package.hash())
    }

    fn code(&self, path: &Path) -> Result<Vec<u8>> {
        let picture = self.reader.read(path)?;
        self.encoder.encode(&to_rgb(&picture)).with_context(|| no_code(path))
    }

    fn query(&self, path: &Path) -> Result<Query> {
        let picture = self.reader.read(path)?;
        let rgb = to_rgb(&picture);
        let codes = || Ok::<_, anyhow::Error>((self.encoder.encode(&rgb)?, self.encoder.encode_uncropped(&rgb)?));
        let (whole, uncropped) = codes().with_context(|| no_code(path))?;
        Ok(Query { whole, uncropped })
    }
}

impl Reader {
    /// Reads a picture, or what the first bytes of a stream show of one.
    fn read(&self, path: &Path) -> Result<Picture> {
        let mut input = Input::open(path)?;
        match input.kind()? {
            Kind::StoredVideo => bail!("{} is a video: pictures alone have codes", input.name()),
            Kind::Stream => self.shown(input),
            _ => pictures::read_quietly(input, self.max_pixels),
        }
    }

    /// What the first bytes of a stream show.
    fn shown(&self, input: Input<'_>) -> Result<Picture> {
        let failed = format!("{} cannot be decoded", files::name(input.path()));
        let stream = StreamFile::open(input)?.read(Some(STREAM_BYTES))?;
        let package = self.package(stream.header().model).with_context(|| failed.clone())?;
        let mut decoder = Decoder::new(package.linear(1)).with_max_pixels(self.max_pixels);
        let faulty = transforms::push_before_fault(&mut decoder, stream.bytes());
        faulty.and_then(|_| Ok(decoder.render()?)).context(failed)
    }

    /// The built-in package that has the tables of this id.
    fn package(&self, model: ModelId) -> Result<&Package> {
        let packages = self.packages.get_or_init(|| Package::built_in().collect());
        let package = packages.iter().find(|package| package.id() == model);
        package.ok_or_else(|| anyhow!("it needs the model {model}, which is not built in: decode it to PNG first"))
    }
}

fn no_code(path: &Path) -> String {
    format!("{} has no code", files::name(path))
}

/// A line with names of files in it, which may hold what a terminal obeys.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Adds what to do about an index or a code.
fn advise(error: retrieval::Error) -> anyhow::Error {
    use retrieval::Error;
    let advice = match error {
        Error::NotAnIndex => "name a file that `nestcast index` wrote",
        Error::Version { version, known } if version > known => "update nestcast, or index the pictures again",
        Error::CodeVersion { .. } => "update nestcast",
        Error::CodeHeader => "get more of it",
        Error::Version { .. } | Error::Truncated { .. } | Error::Corrupt(_) => "index the pictures again",
        Error::Limit { .. } => "index fewer pictures at once",
        _ => return error.into(),
    };
    anyhow!("{error}: {advice}")
}

/// Refuses an index whose codes another model made.
fn check_model(of_index: retrieval::ModelId, coder: &Coder) -> Result<()> {
    let (given, name) = (coder.model(), coder.package.name());
    ensure!(
        of_index == given,
        "its codes are of the model {of_index}, and {name} is {given}: name its package with --model, or index the pictures again"
    );
    Ok(())
}
