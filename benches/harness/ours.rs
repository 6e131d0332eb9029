//! nestcast itself in the measurements: the shipped model, whole encodes, both decoders.

use anyhow::{Context, Result};
use nestcast_codec::{Codec, Picture, Stream};
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
    deep: Option<Codec>,
    /// The strength of the model's activity masking.
    masking: f32,
}

impl Ours {
    /// Opens both transforms of [`MODEL_NAME`]. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn open(threads: usize) -> Result<Self> {
        Self::of(MODEL_NAME, threads)
    }

    /// Opens both transforms of a shipped model. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn of(model: &str, threads: usize) -> Result<Self> {
        let runtime = Runtime::open().context("run this through `cargo xtask measure`, which fetches ONNX Runtime")?;
        let package = Package::builtin(model)?;
        let deep = package.deep(&runtime, threads)?;
        Ok(Self {
            linear: Codec::with(package.linear(threads)),
            deep: Some(Codec::with(deep)),
            masking: package.activity_masking(),
        })
    }

    /// Opens only the linear transform: no networks in memory.
    pub fn linear(threads: usize) -> Result<Self> {
        Ok(Self { linear: Codec::with(Package::builtin(MODEL_NAME)?.linear(threads)), deep: None, masking: 0.0 })
    }

    /// Encodes once, with the best available analysis; stops after `max_bytes`.
    pub fn encode(&self, picture: &Picture, max_bytes: usize) -> Result<Stream> {
        let codec = self.deep.as_ref().unwrap_or(&self.linear);
        Ok(codec.encoder().with_activity_masking(self.masking).with_max_bytes(max_bytes).encode(picture)?)
    }

    /// Decodes a prefix, which must contain the header.
    pub fn decode(&self, prefix: &[u8], kind: Kind) -> Result<Picture> {
        let mut decoder = match (kind, &self.deep) {
            (Kind::Linear, _) => self.linear.decoder(),
            (Kind::Deep, Some(deep)) => deep.decoder(),
            (Kind::Deep, None) => anyhow::bail!("opened without networks"),
        };
        decoder.push(prefix)?;
        Ok(decoder.render()?)
    }
}
