//! The codec as most callers use it: both halves of one transform, with their encoders and decoders.

use std::sync::Arc;

use crate::linear::Linear;
use crate::model::Model;
use crate::picture::{Picture, View};
use crate::stream::decoder::{DecodeError, Decoder};
use crate::stream::encoded::Stream;
use crate::stream::encoder::{EncodeError, Encoder};
use crate::transform::{Analysis, Synthesis};

/// Encodes pictures and decodes streams with one transform. Clones are cheap and share the transform.
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
    /// Returns the built-in model `photo` with its linear transform on one thread; it needs no file and no other
    /// library.
    #[must_use]
    pub fn photo() -> Self {
        Self::with(Linear::new(Model::photo()))
    }

    /// Joins both halves of a transform, on as many threads as the transform uses.
    #[must_use]
    pub fn with(transform: impl Analysis + Synthesis + 'static) -> Self {
        let transform = Arc::new(transform);
        Self { analysis: transform.clone(), synthesis: transform }
    }

    /// Encodes one picture. To encode many in the same memory, use [`Codec::encoder`].
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode<'a>(&self, picture: impl Into<View<'a>>) -> Result<Stream, EncodeError> {
        self.encoder().encode(picture)
    }

    /// Decodes one stream, or any prefix that holds its header: grey or RGB, opaque, 8 bits a sample. To decode many in
    /// the same memory, to add bytes later, or for other samples, use [`Codec::decoder`].
    ///
    /// # Errors
    /// As [`Decoder::push`] and [`Decoder::render_into`].
    pub fn decode(&self, bytes: &[u8]) -> Result<Picture, DecodeError> {
        let mut decoder = self.decoder();
        decoder.push(bytes)?;
        decoder.render()
    }

    /// Returns an encoder that encodes pictures one after another.
    #[must_use]
    pub fn encoder(&self) -> Encoder {
        Encoder::new(Arc::clone(&self.analysis))
    }

    /// Returns a decoder that decodes streams one after another.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        Decoder::new(Arc::clone(&self.synthesis))
    }
}
