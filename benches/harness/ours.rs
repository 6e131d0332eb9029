//! nestcast itself, as the measurements use it: the shipped model, whole encodes, both decoders.

use anyhow::{Context, Result};
use nestcast_codec::{Codec, Picture, Stream};
use nestcast_models::{Package, Runtime};

/// The model that is measured.
pub const MODEL: &str = "photo";

/// A decoder of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Plain Rust.
    Linear,
    /// With networks.
    Deep,
}

impl Kind {
    /// Both, in the order of tables and plots.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Deep];

    /// What tables and plots call it; `nestcast eval` writes the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Deep => "deep",
        }
    }
}

/// The shipped model with the transforms asked for.
pub struct Ours {
    linear: Codec,
    deep: Option<Codec>,
}

impl Ours {
    /// Both transforms of [`MODEL`]. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn open(threads: usize) -> Result<Self> {
        Self::of(MODEL, threads)
    }

    /// Both transforms of a shipped model. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn of(model: &str, threads: usize) -> Result<Self> {
        let runtime = Runtime::open().context("run this through `cargo xtask measure`, which fetches ONNX Runtime")?;
        let package = Package::builtin(model)?;
        let deep = package.deep(&runtime, threads)?;
        Ok(Self { linear: Codec::with(package.linear(threads)), deep: Some(Codec::with(deep)) })
    }

    /// The linear transform alone: no networks in memory.
    pub fn linear(threads: usize) -> Result<Self> {
        Ok(Self { linear: Codec::with(Package::builtin(MODEL)?.linear(threads)), deep: None })
    }

    /// Encodes once, with the best analysis at hand; stops after `max_bytes`.
    pub fn encode(&self, picture: &Picture, max_bytes: usize) -> Result<Stream> {
        let codec = self.deep.as_ref().unwrap_or(&self.linear);
        Ok(codec.encoder().with_max_bytes(max_bytes).encode(picture)?)
    }

    /// Decodes a prefix; it must hold the header.
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
