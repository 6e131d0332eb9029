//! nestcast itself in the measurements: the shipped models, whole encodes, both decoders.

use std::sync::Arc;

use anyhow::{Context, Result};
use nestcast_codec::{Analysis, Codec, Decoder, Encoder, Picture, Stream, Synthesis};
use nestcast_models::{Package, Runtime};

/// The measured model.
pub const MODEL_NAME: &str = "photo";

/// One of nestcast's decoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The linear transform, in plain Rust.
    Linear,
    /// The deep transforms, with networks.
    Deep,
}

impl Kind {
    /// Both, in the order of tables and plots.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Deep];

    /// Returns the name in tables and plots; `nestcast eval` writes the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Deep => "deep",
        }
    }
}

/// A shipped model with the requested transforms.
pub struct Ours {
    linear: Codec,
    networks: Option<Networks>,
    /// The strength of the model's activity masking.
    masking: f32,
}

/// The transforms that need ONNX Runtime.
struct Networks {
    analysis: Arc<dyn Analysis>,
    synthesis: Arc<dyn Synthesis>,
}

impl Ours {
    /// Opens both transforms of [`MODEL_NAME`]. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn open(threads: usize) -> Result<Self> {
        Self::of(MODEL_NAME, threads)
    }

    /// Opens both transforms of a shipped model. A model with a network for gains encodes as `nestcast encode` does
    /// by default, another with its deep analysis. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn of(model: &str, threads: usize) -> Result<Self> {
        let runtime = Runtime::open().context("run this through `cargo xtask measure`, which fetches ONNX Runtime")?;
        let package = Package::builtin(model)?;
        let analysis = if package.has_gain_network() {
            package.masked_analysis(&runtime, threads)?
        } else {
            package.deep_analysis(&runtime, threads)?
        };
        let synthesis = Arc::new(package.deep_synthesis(&runtime, threads));
        Ok(Self {
            linear: Codec::with(package.linear(threads)),
            networks: Some(Networks { analysis: Arc::new(analysis), synthesis }),
            masking: package.activity_masking(),
        })
    }

    /// Opens only the linear transform: no networks in memory.
    pub fn linear(threads: usize) -> Result<Self> {
        Ok(Self { linear: Codec::with(Package::builtin(MODEL_NAME)?.linear(threads)), networks: None, masking: 0.0 })
    }

    /// Encodes once; stops after `max_bytes`.
    pub fn encode(&self, picture: &Picture, max_bytes: usize) -> Result<Stream> {
        let encoder = self.networks.as_ref().map(|networks| Encoder::new(Arc::clone(&networks.analysis)));
        let encoder = encoder.unwrap_or_else(|| self.linear.encoder()).with_activity_masking(self.masking);
        Ok(encoder.with_max_bytes(max_bytes).encode(picture)?)
    }

    /// Decodes a prefix, which must contain the header.
    pub fn decode(&self, prefix: &[u8], kind: Kind) -> Result<Picture> {
        let mut decoder = match (kind, &self.networks) {
            (Kind::Linear, _) => self.linear.decoder(),
            (Kind::Deep, Some(networks)) => Decoder::new(Arc::clone(&networks.synthesis)),
            (Kind::Deep, None) => anyhow::bail!("opened without networks"),
        };
        decoder.push(prefix)?;
        Ok(decoder.render()?)
    }
}
