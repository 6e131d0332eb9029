//! The codec as most callers meet it: both halves of one transform, and encoders and decoders of it.

use std::sync::Arc;

use crate::linear::Linear;
use crate::model::Model;
use crate::picture::View;
use crate::stream::decoder::Decoder;
use crate::stream::encoded::Stream;
use crate::stream::encoder::{EncodeError, Encoder};
use crate::transform::{Analysis, Synthesis};

/// Encodes pictures and decodes streams with one transform. Cheap to clone; clones share the transform.
#[derive(Clone)]
pub struct Codec {
    analysis: Arc<dyn Analysis>,
    synthesis: Arc<dyn Synthesis>,
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").field("model", &self.analysis.model().id()).finish_non_exhaustive()
    }
}

impl Codec {
    /// The built-in model `photo` with its linear transform, on one thread: needs no file and no other library.
    #[must_use]
    pub fn photo() -> Self {
        Self::with(Linear::new(Model::photo()))
    }

    /// Both halves of a transform, on as many threads as that uses.
    #[must_use]
    pub fn with(transform: impl Analysis + Synthesis + 'static) -> Self {
        let transform = Arc::new(transform);
        Self { analysis: transform.clone(), synthesis: transform }
    }

    /// Encodes one picture; [`Codec::encoder`] encodes many in the same memory.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode<'a>(&self, picture: impl Into<View<'a>>) -> Result<Stream, EncodeError> {
        self.encoder().encode(picture)
    }

    /// An encoder for pictures, one after another.
    #[must_use]
    pub fn encoder(&self) -> Encoder {
        Encoder::new(Arc::clone(&self.analysis))
    }

    /// A decoder for streams, one after another.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        Decoder::new(Arc::clone(&self.synthesis))
    }
}
