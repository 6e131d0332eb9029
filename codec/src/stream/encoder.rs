//! Encodes pictures into streams.

use bytes::BytesMut;

use crate::error::Error;
use crate::model::Model;
use crate::picture::View;
use crate::stream::encoded::Stream;
use crate::stream::header::{Header, MAX_HEADER};
use crate::stream::interleave::Limit;
use crate::stream::slice_encoder::{RegionChoices, SliceEncoder};
use crate::subband::activity::Norms;
use crate::subband::coefficients::Coefficients;
use crate::transform::{Analysis, TransformError};

/// The reason why a picture could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The analysis failed.
    #[error("the analysis failed: {0}")]
    Analysis(#[from] TransformError),
    /// The analysis returned coefficients of another model or of a wrong number.
    #[error(transparent)]
    Codec(#[from] Error),
}

/// Encodes pictures with one analysis, one after another in the same memory. One encode serves every receiver.
///
/// Encoding allocates nothing if the picture has the size of the one before and the earlier streams were dropped,
/// except to hand work to other threads.
pub struct Encoder {
    analysis: Box<dyn Analysis>,
    max_bytes: usize,
    rotations: bool,
    /// The strength of the gains, above 0, and the norms of the wavelet; `None` for no gains.
    masking: Option<(f32, Norms)>,
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
    /// Returns an encoder for the model of `analysis`, on as many threads as that uses, without a limit of bytes.
    #[must_use]
    pub fn new(analysis: impl Analysis + 'static) -> Self {
        Self {
            analysis: Box::new(analysis),
            max_bytes: usize::MAX,
            rotations: true,
            masking: None,
            coefficients: Coefficients::default(),
            slices: SliceEncoder::default(),
            bytes: BytesMut::new(),
        }
    }

    /// Stops after `max_bytes`, but not inside the header. The stream is a prefix of the one without a limit, and takes
    /// less time to make.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.set_max_bytes(max_bytes);
        self
    }

    /// As [`Encoder::with_max_bytes`], for the pictures from the next one on.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Returns the limit of [`Encoder::with_max_bytes`].
    #[must_use]
    pub const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Sets whether the components of regions may be rotated; the default is yes. Without rotations, an RGB picture is
    /// encoded a third faster and usually needs 1 to 8 % more bytes. Decoders read both.
    #[must_use]
    pub const fn with_rotations(mut self, rotations: bool) -> Self {
        self.rotations = rotations;
        self
    }

    /// Sets the strength of activity masking, 0 to 1: regions of 32 x 32 pixels get coarser steps where they have texture,
    /// which hides errors, and finer ones where they are smooth. The default is 0, no masking; 0.35 is good for how photos
    /// look, and lowers their PSNR by 0.2 to 0.3 dB. Drawn regions, such as text, keep their steps. An analysis may say how much
    /// each region hides ([`Coefficients::activity`]); otherwise the encoder measures it. Decoders read both.
    #[must_use]
    pub fn with_activity_masking(mut self, strength: f32) -> Self {
        self.masking = (strength > 0.0).then(|| (strength.min(1.0), self.model().norms()));
        self
    }

    /// Returns the model whose tables the streams are coded with.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.analysis.model()
    }

    /// Encodes a picture.
    ///
    /// # Errors
    /// [`EncodeError::Analysis`] if the analysis fails, [`EncodeError::Codec`] if its coefficients do not fit together.
    pub fn encode<'a>(&mut self, picture: impl Into<View<'a>>) -> Result<Stream, EncodeError> {
        let mut coefficients = std::mem::take(&mut self.coefficients);
        let analysed = self.analysis.analyse(picture.into(), &mut coefficients);
        let stream = analysed.map_err(EncodeError::from).and_then(|()| Ok(self.encode_coefficients(&coefficients)?));
        self.coefficients = coefficients;
        stream
    }

    /// Encodes the coefficients of an analysis.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn encode_coefficients(&mut self, coefficients: &Coefficients) -> Result<Stream, Error> {
        let planes = self.quantise(coefficients)?;
        let threads = self.analysis.threads();
        let Self { slices, bytes, .. } = self;
        let gains = slices.have_gains();
        let payloads = slices.code(planes, Limit::prefix(self.max_bytes), threads);
        let Coefficients { model, size, channels, axes, .. } = *coefficients;
        bytes.reserve(MAX_HEADER + payloads + payloads / 8);
        Header { size, channels, model, planes, gains, axes }.write(bytes);
        let least = bytes.len();
        slices.write(bytes);
        bytes.truncate(self.max_bytes.max(least));
        Ok(Stream::of(bytes.split().freeze()))
    }

    /// Makes the slices of these coefficients and returns the number of their bit planes.
    fn quantise(&mut self, coefficients: &Coefficients) -> Result<u8, Error> {
        let Self { analysis, slices, rotations, masking, .. } = self;
        let model = &**analysis.model();
        coefficients.check(model.id())?;
        let masking = masking.as_ref().map(|(strength, norms)| (*strength, norms));
        let choices = RegionChoices { rotations: *rotations, masking };
        Ok(slices.quantise(model, coefficients.bands(), choices, analysis.threads()))
    }

    /// Counts how often each adaptive probability codes a zero and a one while `coefficients` are coded. Such counts
    /// over many pictures give a model's priors (spec, "Model tables").
    ///
    /// # Errors
    /// As [`Encoder::encode_coefficients`].
    #[cfg(feature = "training")]
    pub fn count(&mut self, coefficients: &Coefficients) -> Result<Vec<[u64; 2]>, Error> {
        let planes = self.quantise(coefficients)?;
        Ok(self.slices.count(planes))
    }

    /// Returns the slices of these coefficients before they are coded, and the number of their bit planes.
    #[cfg(feature = "training")]
    pub(crate) fn quantised(&mut self, coefficients: &Coefficients) -> Result<(&mut SliceEncoder, u8), Error> {
        let planes = self.quantise(coefficients)?;
        Ok((&mut self.slices, planes))
    }
}
