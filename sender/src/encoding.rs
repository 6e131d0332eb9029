//! How frames are encoded, and the model that goes with them.

use bytes::Bytes;
use nestcast_codec::{Analysis, EncodeError, Encoder, ModelId, Picture, Stream};
use nestcast_proto::PackageHash;

/// A model package as it goes to receivers that lack it (spec, "Model package").
#[derive(Debug, Clone)]
pub struct Package(pub Bytes);

/// What turns pictures to streams.
pub struct Encoding {
    pub(crate) model: ModelId,
    /// The name of the package that frames are encoded with, given or not.
    pub(crate) hash: PackageHash,
    encoder: Encoder,
    analysis: Box<dyn Analysis + Send>,
    pub(crate) package: Option<Package>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoding").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Encoding {
    /// Encodes with the tables `model` of the package `hash`.
    #[must_use]
    pub fn new(model: ModelId, hash: PackageHash, encoder: Encoder, analysis: Box<dyn Analysis + Send>) -> Self {
        Self { model, hash, encoder, analysis, package: None }
    }

    /// Gives `package`, which has the hash, to receivers that ask for it.
    #[must_use]
    pub fn with_package(mut self, package: Package) -> Self {
        self.package = Some(package);
        self
    }

    /// Encodes to at most `limit` bytes, and no more than the encoder makes.
    pub(crate) fn encode(&self, picture: &Picture, limit: usize) -> Result<Stream, EncodeError> {
        let encoder = self.encoder.clone().with_max_bytes(self.most(limit));
        encoder.encode(picture, &*self.analysis)
    }

    /// The most bytes of a frame under `limit`.
    pub(crate) fn most(&self, limit: usize) -> usize {
        limit.min(self.encoder.max_bytes())
    }
}
