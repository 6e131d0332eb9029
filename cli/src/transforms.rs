//! The model of a command, its transforms, and the advice where ONNX Runtime is missing.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use nestcast_codec::{Decoder, Encoder, Error, ModelId, Restoration};
use nestcast_models::{DeepSynthesis, Package, Runtime, VideoPackage};

use crate::args::{BOTH, Common, Transform};
use crate::files;

/// A model package with the options that go with it.
pub(crate) struct Model {
    pub(crate) package: Package,
    pub(crate) threads: usize,
    pub(crate) max_pixels: u64,
}

impl Model {
    /// Opens the model that `--model` names.
    pub(crate) fn open(options: &Common) -> Result<Self> {
        let package = Package::find(options.model()).with_context(|| format!("--model {}", options.model()))?;
        Ok(Self { package, threads: options.threads(), max_pixels: options.max_pixels })
    }

    /// Opens the model that a stream needs: the one that `--model` names, which must be it; without `--model` the built-in one of
    /// this id, or the usual one where there is none.
    pub(crate) fn of_stream(options: &Common, needed: ModelId) -> Result<Self> {
        let model = Self::open(options)?;
        let given = model.package.id();
        match &options.model {
            _ if needed == given => Ok(model),
            Some(named) => Err(Error::Model { needed, given }).with_context(|| format!("--model {named}")),
            None => Ok(Self { package: Package::built_in_with(needed).unwrap_or(model.package), ..model }),
        }
    }

    /// An encoder with this transform.
    pub(crate) fn encoder(&self, kind: Transform) -> Result<Encoder> {
        Ok(match kind {
            Transform::Linear => Encoder::new(self.package.linear(self.threads)),
            Transform::Deep => Encoder::new(self.package.deep_analysis(&runtime("--analysis linear")?, self.threads)?),
        })
    }

    /// What decodes with networks.
    pub(crate) fn deep_synthesis(&self) -> Result<DeepSynthesis> {
        Ok(self.package.deep_synthesis(&runtime("--decoder linear")?, self.threads))
    }

    /// A decoder with this transform.
    pub(crate) fn decoder(&self, kind: Transform) -> Result<Decoder> {
        let decoder = match kind {
            Transform::Linear => Decoder::new(self.package.linear(self.threads)),
            Transform::Deep => Decoder::new(self.deep_synthesis()?),
        };
        Ok(decoder.with_max_pixels(self.max_pixels))
    }
}

/// What shows frames of video through the network of their package.
pub(crate) fn restoration(threads: usize) -> Result<Arc<dyn Restoration>> {
    Ok(Arc::new(VideoPackage::built_in()?.deep(&runtime("--decoder linear")?, threads)?))
}

/// Returns the default decoder for pictures: deep where ONNX Runtime works, else linear, and a note says why.
pub(crate) fn usual_decoder() -> Transform {
    let Err(error) = Runtime::open() else { return Transform::Deep };
    files::note(&format!("nestcast uses the linear decoder: {error}; `--decoder linear` silences this note"));
    Transform::Linear
}

/// Returns the default decoders to compare: both where ONNX Runtime works, else linear, and a note says why.
pub(crate) fn usual_decoders() -> &'static [Transform] {
    if usual_decoder() == Transform::Deep { BOTH } else { &[Transform::Linear] }
}

/// Opens ONNX Runtime; if it is missing, the error names the option `instead`, which works without it.
fn runtime(instead: &str) -> Result<Runtime> {
    Runtime::open().map_err(|error| anyhow!("{error}; `{instead}` works without it"))
}
