//! The model that a command works with, its transforms, and what to do where ONNX Runtime is missing.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nestcast_codec::{Decoder, Encoder, Error, ModelId, Size, Synthesis};
use nestcast_models::{Package, Runtime};

use crate::args::{Common, Transform};

/// A model package with the options that go with it.
pub(crate) struct Model {
    package: Package,
    threads: usize,
    max_pixels: u64,
}

impl Model {
    /// Opens the model that `--model` names.
    pub(crate) fn open(options: &Common) -> Result<Self> {
        let package = Package::find(options.model()).with_context(|| format!("--model {}", options.model()))?;
        Ok(Self { package, threads: options.threads(), max_pixels: options.max_pixels })
    }

    pub(crate) fn name(&self) -> &str {
        self.package.name()
    }

    pub(crate) fn id(&self) -> ModelId {
        self.package.id()
    }

    /// An encoder with this transform.
    pub(crate) fn encoder(&self, kind: Transform) -> Result<Encoder> {
        Ok(match kind {
            Transform::Linear => Encoder::new(self.package.linear(self.threads)),
            Transform::Deep => Encoder::new(self.package.deep_analysis(&runtime("--analysis linear")?, self.threads)?),
        })
    }

    /// The transform to decode with.
    fn synthesis(&self, kind: Transform) -> Result<Arc<dyn Synthesis>> {
        Ok(match kind {
            Transform::Linear => Arc::new(self.package.linear(self.threads)),
            Transform::Deep => Arc::new(self.package.deep_synthesis(&runtime("--decoder linear")?, self.threads)?),
        })
    }

    /// The transform to decode with, loaded while `work` is done: a network takes longer to load than a stream to read and
    /// to decode. Where both fail, the error is that of `work`.
    pub(crate) fn synthesis_beside<R>(
        &self,
        kind: Transform,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<(Arc<dyn Synthesis>, R)> {
        let (loaded, done) = thread::scope(|scope| {
            let loading = scope.spawn(|| self.synthesis(kind));
            let done = work();
            (loading.join().unwrap_or_else(|panic| resume_unwind(panic)), done)
        });
        let done = done?;
        Ok((loaded?, done))
    }

    /// The package itself.
    pub(crate) const fn package(&self) -> &Package {
        &self.package
    }

    /// This model, or the built-in one of this id, where there is one and this is another.
    pub(crate) fn or_built_in(self, id: ModelId) -> Self {
        if id == self.id() {
            return self;
        }
        let built_in = Package::built_in().find(|package| package.id() == id);
        match built_in {
            Some(package) => self.with_package(package),
            None => self,
        }
    }

    /// The same options with another package.
    pub(crate) fn with_package(&self, package: Package) -> Self {
        Self { package, threads: self.threads, max_pixels: self.max_pixels }
    }

    /// A decoder with this transform.
    pub(crate) fn decoder(&self, kind: Transform) -> Result<Decoder> {
        Ok(Decoder::new(self.synthesis(kind)?).with_max_pixels(self.max_pixels))
    }
}

/// Gives a decoder another stream, as far as that keeps to the specification, and says what it breaks behind its header.
pub(crate) fn push_before_fault(decoder: &mut Decoder, bytes: &[u8]) -> Result<Option<Error>> {
    decoder.reset();
    match decoder.push(bytes) {
        Ok(_) => Ok(None),
        Err(fault @ Error::Corrupt { .. }) if decoder.header().is_some() => Ok(Some(fault)),
        Err(error) => Err(advise(error)),
    }
}

/// Refuses what the decoder would, for a picture too large, before its stream is read.
pub(crate) fn check_size(size: Size, options: &Common) -> Result<()> {
    let (given, max) = (size.pixels() as u64, options.max_pixels);
    if given <= max {
        return Ok(());
    }
    Err(advise(Error::Limit { what: "the picture's number of pixels", given, max }))
}

/// Adds which option helps.
pub(crate) fn advise(error: Error) -> anyhow::Error {
    let advice = match error {
        Error::Model { .. } => "name the folder of the model it needs with --model",
        Error::Limit { .. } => "if you trust the stream, raise --max-pixels",
        Error::Corrupt { .. } => "get the stream again",
        _ => return error.into(),
    };
    anyhow!("{error}: {advice}")
}

/// ONNX Runtime; where it is missing, `instead` is the option that works without it.
fn runtime(instead: &str) -> Result<Runtime> {
    Runtime::open().map_err(|error| anyhow!("{error}; `{instead}` works without it"))
}
