//! Codes of files: of pictures, and of streams that were cut.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};
use nestcast_codec::{Decoder, Error, ModelId, Picture};
use nestcast_media::{Input, InputError, Kind, to_rgb};
use nestcast_models::codes::{CodeEncoder, CodePackage};
use nestcast_models::{Package, Runtime};

/// The bytes of a stream that are read: later ones change little in 32x32 pixels.
const STREAM_BYTES: usize = 1024;

/// Makes codes of files, on as many threads at once as it was opened for.
#[derive(Debug)]
pub struct Coder {
    package: CodePackage,
    encoder: CodeEncoder,
    max_pixels: u64,
    /// The built-in packages of transforms, opened for the first stream.
    transforms: OnceLock<Vec<Package>>,
}

/// What to search for.
#[derive(Debug)]
pub struct Query {
    /// The picture itself, RGB.
    pub picture: Picture,
    /// The code of the picture.
    pub whole: Vec<u8>,
    /// The codes of the pictures that it may be a crop of.
    pub uncropped: Vec<Vec<u8>>,
}

impl Coder {
    /// Makes codes with this package on `threads` threads, and refuses pictures of more than `max_pixels`.
    ///
    /// # Errors
    /// If ONNX Runtime refuses the package's network.
    pub fn new(package: CodePackage, runtime: &Runtime, threads: usize, max_pixels: u64) -> Result<Self> {
        let encoder = package.encoder(runtime, threads)?;
        Ok(Self { package, encoder, max_pixels, transforms: OnceLock::new() })
    }

    /// Returns the package.
    #[must_use]
    pub const fn package(&self) -> &CodePackage {
        &self.package
    }

    /// Returns the model's id, as in indices.
    #[must_use]
    pub const fn model(&self) -> nestcast_retrieval::CodeModelId {
        nestcast_retrieval::CodeModelId(self.package.hash())
    }

    /// Returns the code of the picture in a file.
    ///
    /// # Errors
    /// As [`read`](Self::read), and those of ONNX Runtime.
    pub fn code(&self, path: &Path) -> Result<Vec<u8>> {
        let picture = self.read(path)?;
        self.encoder.encode(&to_rgb(&picture)).with_context(|| no_code(path))
    }

    /// Returns the codes for a search for the picture in a file.
    ///
    /// # Errors
    /// As [`code`](Self::code).
    pub fn query(&self, path: &Path) -> Result<Query> {
        let picture = to_rgb(&self.read(path)?).into_owned();
        let whole = self.encoder.encode(&picture).with_context(|| no_code(path))?;
        let uncropped = self.encoder.encode_uncropped(&picture).with_context(|| no_code(path))?;
        Ok(Query { picture, whole, uncropped })
    }

    /// Reads a picture, or decodes the first bytes of a stream.
    ///
    /// # Errors
    /// If the file is neither, is not valid, is too large, or is a stream of a model that is not built in.
    pub fn read(&self, path: &Path) -> Result<Picture> {
        let mut input = Input::open(path)?;
        match input.kind()? {
            Kind::StoredVideo => bail!("{} is a video: pictures alone have codes", input.name()),
            Kind::Stream => self.shown(input),
            _ => Ok(input.picture(self.max_pixels)?.picture),
        }
    }

    /// Decodes the first bytes of a stream, as far as it follows the specification.
    fn shown(&self, input: Input<'_>) -> Result<Picture> {
        let name = input.name();
        let failed = || format!("{name} cannot be decoded");
        let stream = input.stream()?.read(Some(STREAM_BYTES)).map_err(|error| InputError::named(&name, error))?;
        let package = self.transforms(stream.header().model).with_context(failed)?;
        let mut decoder = Decoder::new(package.linear(1)).with_max_pixels(self.max_pixels);
        match decoder.push(stream.bytes()) {
            Ok(_) | Err(Error::Corrupt { .. }) => decoder.render().with_context(failed),
            Err(error) => Err(error).with_context(failed),
        }
    }

    /// Returns the built-in package with the tables of this id.
    fn transforms(&self, model: ModelId) -> Result<&Package> {
        let packages = self.transforms.get_or_init(|| Package::built_in().collect());
        let package = packages.iter().find(|package| package.id() == model);
        package.with_context(|| format!("it needs the model {model}, which is not built in: decode it to PNG first"))
    }
}

fn no_code(path: &Path) -> String {
    format!("{} has no code", Input::name_of(path))
}
