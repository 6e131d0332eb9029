//! Pictures to streams.

use bytes::BytesMut;

use crate::error::Error;
use crate::model::Model;
use crate::picture::View;
use crate::stream::encoded::Stream;
use crate::stream::header::{Header, MAX_HEADER};
use crate::stream::slice_encoder::SliceEncoder;
use crate::subband::coefficients::Coefficients;
use crate::transform::{Analysis, TransformError};

/// Why a picture could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The analysis failed.
    #[error("the analysis failed: {0}")]
    Analysis(#[from] TransformError),
    /// The analysis gave something else than it promises.
    #[error(transparent)]
    Codec(#[from] Error),
}

/// Encodes pictures with one analysis, one after another in the same memory. Encoding once serves every receiver.
///
/// Pictures of the size of the one before are encoded without an allocation, once the streams before were dropped;
/// threads that are started take some.
pub struct Encoder {
    analysis: Box<dyn Analysis>,
    max_bytes: usize,
    rotations: bool,
    /// Memory of the picture before.
    coefficients: Coefficients,
    slices: SliceEncoder,
    bytes: BytesMut,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("model", &self.model().id()).finish_non_exhaustive()
    }
}

impl Encoder {
    /// An encoder for the model of `analysis`, on as many threads as that uses, without a limit.
    #[must_use]
    pub fn new(analysis: impl Analysis + 'static) -> Self {
        Self {
            analysis: Box::new(analysis),
            max_bytes: usize::MAX,
            rotations: true,
            coefficients: Coefficients::default(),
            slices: SliceEncoder::default(),
            bytes: BytesMut::new(),
        }
    }

    /// Stops after `max_bytes`, but not inside the header: the stream is a prefix of the one without a
    /// limit, made in less time.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.set_max_bytes(max_bytes);
        self
    }

    /// As [`Encoder::with_max_bytes`], for the pictures from now on.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// The limit of [`Encoder::with_max_bytes`].
    #[must_use]
    pub const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Whether the components of regions may be rotated, as they are unless told otherwise. Without, an RGB picture is
    /// encoded a third faster and mostly takes 1 to 8 % more bytes. Decoders need not be told.
    #[must_use]
    pub const fn with_rotations(mut self, rotations: bool) -> Self {
        self.rotations = rotations;
        self
    }

    /// The model whose tables the streams are coded with.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.analysis.model()
    }

    /// Encodes a picture.
    ///
    /// # Errors
    /// [`EncodeError::Analysis`] if the analysis fails, [`EncodeError::Codec`] if it gives what does not fit.
    pub fn encode<'a>(&mut self, picture: impl Into<View<'a>>) -> Result<Stream, EncodeError> {
        let mut coefficients = std::mem::take(&mut self.coefficients);
        let analysed = self.analysis.analyse(picture.into(), &mut coefficients);
        let stream = analysed.map_err(EncodeError::from).and_then(|()| Ok(self.encode_coefficients(&coefficients)?));
        self.coefficients = coefficients;
        stream
    }

    /// Encodes what an analysis gave.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn encode_coefficients(&mut self, coefficients: &Coefficients) -> Result<Stream, Error> {
        let planes = self.quantise(coefficients)?;
        let threads = self.analysis.threads();
        let Self { slices, bytes, .. } = self;
        let payloads = slices.code(planes, self.max_bytes, threads);
        let Coefficients { model, size, channels, axes, .. } = *coefficients;
        bytes.reserve(MAX_HEADER + payloads + payloads / 8);
        Header { size, channels, model, planes, axes }.write(bytes);
        let least = bytes.len();
        slices.write(bytes);
        bytes.truncate(self.max_bytes.max(least));
        Ok(Stream::of(bytes.split().freeze()))
    }

    /// Makes the slices of these coefficients, and says how many bit planes they take.
    fn quantise(&mut self, coefficients: &Coefficients) -> Result<u8, Error> {
        let Self { analysis, slices, rotations, .. } = self;
        let model = &**analysis.model();
        coefficients.check(model.id())?;
        Ok(slices.quantise(model, coefficients.bands(), *rotations, analysis.threads()))
    }

    /// How often each adaptive probability meets a zero and a one while `coefficients` are coded; from
    /// such counts over many pictures come a model's priors (spec, "Model tables").
    ///
    /// # Errors
    /// As [`Encoder::encode_coefficients`].
    #[cfg(feature = "training")]
    pub fn count(&mut self, coefficients: &Coefficients) -> Result<Vec<[u64; 2]>, Error> {
        let planes = self.quantise(coefficients)?;
        Ok(self.slices.count(planes))
    }

    /// The slices of these coefficients, not coded yet, and how many bit planes they take.
    #[cfg(feature = "training")]
    pub(crate) fn quantised(&mut self, coefficients: &Coefficients) -> Result<(&mut SliceEncoder, u8), Error> {
        let planes = self.quantise(coefficients)?;
        Ok((&mut self.slices, planes))
    }
}
