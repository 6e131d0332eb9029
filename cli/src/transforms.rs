//! A command's model, its transforms, and the advice where ONNX Runtime is missing.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::{Decoder, Encoder, Error, ModelId, Picture, Restoration, View};
use nestcast_models::{DeepSynthesis, Package, Runtime, VideoPackage};

use crate::args::{Analysis, BOTH_DECODERS, Common, PictureCoding, Transform};
use crate::files;

/// A model package, with the options for it.
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

    /// Opens the model that a stream needs. With `--model`, that model must be the right one. Without it, this is the
    /// built-in model with this id, or the default one if there is none.
    pub(crate) fn of_stream(options: &Common, needed: ModelId) -> Result<Self> {
        let model = Self::open(options)?;
        let given = model.package.id();
        match &options.model {
            _ if needed == given => Ok(model),
            Some(named) => Err(Error::Model { needed, given }).with_context(|| format!("--model {named}")),
            None => Ok(Self { package: Package::built_in_with(needed).unwrap_or(model.package), ..model }),
        }
    }

    /// Makes an encoder as asked for, or the model's usual one, and returns the name of its transform too.
    pub(crate) fn encoder(&self, coding: &PictureCoding) -> Result<(&'static str, Encoder)> {
        let strength = coding.strength.unwrap_or_else(|| self.package.activity_masking());
        let analysis = coding.analysis.unwrap_or_else(|| self.usual_analysis(strength));
        let runtime = || runtime("--analysis linear");
        let encoder = match analysis {
            Analysis::Linear => Encoder::new(self.package.linear(self.threads)),
            Analysis::Masked => {
                let (name, has_network) = (self.package.name(), self.package.has_gain_network());
                ensure!(has_network, "{name} has no network for --analysis masked: use photo-ssim, or leave it out");
                Encoder::new(self.package.masked_analysis(&runtime()?, self.threads)?)
            }
            Analysis::Deep => Encoder::new(self.package.deep_analysis(&runtime()?, self.threads)?),
        };
        Ok((analysis.name(), encoder.with_activity_masking(strength)))
    }

    /// Returns the name of the transform that a picture gets: the deep one corrects only colours of 8 bits.
    pub(crate) fn used_analysis(&self, asked: &'static str, picture: &Picture) -> &'static str {
        let is_left_out = asked == Analysis::Deep.name() && View::from(picture).has_deep_colour();
        let other = if self.package.has_gain_network() { Analysis::Masked } else { Analysis::Linear };
        if is_left_out { other.name() } else { asked }
    }

    /// Returns the transform to encode with: with the network for activity masking of this strength, if the model has one and
    /// ONNX Runtime works. A note says if it does not.
    fn usual_analysis(&self, strength: f32) -> Analysis {
        if strength == 0.0 || !self.package.has_gain_network() {
            return Analysis::Linear;
        }
        let Err(error) = Runtime::open() else { return Analysis::Masked };
        files::note(&format!("nestcast encodes without networks: {error}; `--analysis linear` silences this note"));
        Analysis::Linear
    }

    /// Opens the synthesis with networks.
    pub(crate) fn deep_synthesis(&self) -> Result<DeepSynthesis> {
        Ok(self.package.deep_synthesis(&runtime("--decoder linear")?, self.threads))
    }

    /// Makes a decoder with this transform.
    pub(crate) fn decoder(&self, kind: Transform) -> Result<Decoder> {
        let decoder = match kind {
            Transform::Linear => Decoder::new(self.package.linear(self.threads)),
            Transform::Deep => Decoder::new(self.deep_synthesis()?),
        };
        Ok(decoder.with_max_pixels(self.max_pixels))
    }
}

/// Opens the network that restores frames of video.
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
    if usual_decoder() == Transform::Deep { BOTH_DECODERS } else { &[Transform::Linear] }
}

/// Opens ONNX Runtime; if it is missing, the error names the option `instead`, which works without it.
fn runtime(instead: &str) -> Result<Runtime> {
    Runtime::open().map_err(|error| anyhow!("{error}; `{instead}` works without it"))
}
