//! nestcast itself, as the measurements use it: the shipped model, whole encodes, both decoders.

use anyhow::{Context, Result};
use nestcast_codec::{Decoder, Encoder, Linear, Picture, Stream, Synthesis};
use nestcast_models::{Deep, Package, Runtime};

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
    package: Package,
    linear: Linear,
    deep: Option<Deep>,
    threads: usize,
}

impl Ours {
    /// Both transforms. Needs ONNX Runtime: `cargo xtask` sets it up.
    pub fn open(threads: usize) -> Result<Self> {
        let mut ours = Self::linear(threads)?;
        let runtime = Runtime::open().context("run this through `cargo xtask measure`, which fetches ONNX Runtime")?;
        ours.deep = Some(ours.package.deep(&runtime, threads)?);
        Ok(ours)
    }

    /// The linear transform alone: no networks in memory.
    pub fn linear(threads: usize) -> Result<Self> {
        let package = Package::builtin(MODEL)?;
        let linear = package.linear(threads);
        Ok(Self { package, linear, deep: None, threads })
    }

    /// Encodes once, with the best analysis at hand; stops after `max_bytes`.
    pub fn encode(&self, picture: &Picture, max_bytes: usize) -> Result<Stream> {
        let encoder = Encoder::new(self.package.tables().clone()).with_threads(self.threads).with_max_bytes(max_bytes);
        Ok(match &self.deep {
            Some(deep) => encoder.encode(picture, deep)?,
            None => encoder.encode(picture, &self.linear)?,
        })
    }

    /// Decodes a prefix; it must hold the header.
    pub fn decode(&self, prefix: &[u8], kind: Kind) -> Result<Picture> {
        let mut decoder = Decoder::new(self.package.tables().clone()).with_threads(self.threads);
        decoder.push(prefix)?;
        Ok(decoder.render(self.synthesis(kind)?)?)
    }

    fn synthesis(&self, kind: Kind) -> Result<&dyn Synthesis> {
        match (kind, &self.deep) {
            (Kind::Linear, _) => Ok(&self.linear),
            (Kind::Deep, Some(deep)) => Ok(deep),
            (Kind::Deep, None) => anyhow::bail!("opened without networks"),
        }
    }
}
