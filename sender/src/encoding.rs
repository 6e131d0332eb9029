//! How frames are encoded, and the model that goes with them.

use bytes::Bytes;
use nestcast_codec::{Analysis, Embedded, EncodeError, Encoder, ModelId, Picture};

/// A model package as it goes to receivers that lack it (spec, "Model package").
#[derive(Debug, Clone)]
pub struct Package(pub Bytes);

/// What turns pictures to streams.
pub struct Encoding {
    pub(crate) model: ModelId,
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
    /// Encodes with the model `model`.
    #[must_use]
    pub fn new(model: ModelId, encoder: Encoder, analysis: Box<dyn Analysis + Send>) -> Self {
        Self { model, encoder, analysis, package: None }
    }

    /// Gives `package` to receivers that ask for the model.
    #[must_use]
    pub fn with_package(mut self, package: Package) -> Self {
        self.package = Some(package);
        self
    }

    pub(crate) fn encode(&self, picture: &Picture) -> Result<Embedded, EncodeError> {
        self.encoder.encode(picture, &*self.analysis)
    }
}
