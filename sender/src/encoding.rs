//! How frames are encoded, and the model that goes with them.

use bytes::Bytes;
use nestcast_codec::{EncodeError, Encoder, ModelId, Picture, Stream};
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
    /// The most bytes of a frame, whatever is wanted.
    max_bytes: usize,
    pub(crate) package: Option<Package>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoding").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Encoding {
    /// Encodes with the transform of the package `hash`.
    #[must_use]
    pub fn new(hash: PackageHash, encoder: Encoder) -> Self {
        let (model, max_bytes) = (encoder.model().id(), encoder.max_bytes());
        Self { model, hash, encoder, max_bytes, package: None }
    }

    /// Gives `package`, which has the hash, to receivers that ask for it.
    #[must_use]
    pub fn with_package(mut self, package: Package) -> Self {
        self.package = Some(package);
        self
    }

    /// Encodes to at most `limit` bytes, and no more than the encoder makes.
    pub(crate) fn encode(&mut self, picture: &Picture, limit: usize) -> Result<Stream, EncodeError> {
        self.encoder.set_max_bytes(self.most(limit));
        self.encoder.encode(picture)
    }

    /// The most bytes of a frame under `limit`.
    pub(crate) fn most(&self, limit: usize) -> usize {
        limit.min(self.max_bytes)
    }
}
