//! Encodes pictures into streams.

use std::sync::Arc;

use bytes::BytesMut;

use crate::error::Error;
use crate::linear::Linear;
use crate::model::Model;
use crate::picture::View;
use crate::stream::encoded::Stream;
use crate::stream::extras::Extras;
use crate::stream::header::{AlphaPlanes, Header, MAX_BITS, MAX_HEADER, USUAL_BITS};
use crate::stream::interleave::{self, Limit};
use crate::stream::slice_encoder::{Choices, SliceEncoder};
use crate::subband::activity::Norms;
use crate::subband::coefficients::Coefficients;
use crate::subband::quantise::MAX_FINE_PLANES;
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
    max_bits: u8,
    /// Memory of the picture before.
    coefficients: Coefficients,
    slices: SliceEncoder,
    alpha: Alpha,
    bytes: BytesMut,
}

/// Planes by which opacity comes later than colours. An error of opacity shows as that error times the difference
/// between the picture and its ground, in parts of white, which is about half.
const ALPHA_DELAY_PLANES: u8 = 1;

/// The parts that encode opacity.
#[derive(Debug, Default)]
struct Alpha {
    linear: Option<Linear>,
    coefficients: Coefficients,
    slices: SliceEncoder,
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
            max_bits: MAX_BITS,
            coefficients: Coefficients::default(),
            slices: SliceEncoder::default(),
            alpha: Alpha::default(),
            bytes: BytesMut::new(),
        }
    }

    /// Stops after `max_bytes`, but not inside the header. The stream is a prefix of the one without a limit. It
    /// takes less time to make, unless the picture has opacity: how bytes are shared with it is known only at the end.
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

    /// Sets the strength of activity masking, 0 to 1: regions of 32 x 32 pixels get coarser steps where they have
    /// texture, which hides errors, and finer ones where they are smooth. The default is 0, no masking; 0.35 is good
    /// for how photos look, and lowers their PSNR by 0.2 to 0.3 dB. Drawn regions, such as text, keep their steps. An
    /// analysis may say how much each region hides ([`Coefficients::activity`]); otherwise the encoder measures it.
    /// Decoders read both.
    #[must_use]
    pub fn with_activity_masking(mut self, strength: f32) -> Self {
        self.masking = (strength > 0.0).then(|| (strength.min(1.0), self.model().norms()));
        self
    }

    /// Sets the most bits of a sample that streams keep, 8..=16; others are clamped. The default is 16. At the same
    /// cut, a stream of more bits shows the same picture as one of 8, though its bytes differ. It continues after that
    /// one's end with finer planes.
    #[must_use]
    pub fn with_max_bits(mut self, bits: u8) -> Self {
        self.max_bits = bits.clamp(USUAL_BITS, MAX_BITS);
        self
    }

    /// Returns the model whose tables the streams are coded with.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.analysis.model()
    }

    /// Encodes a picture. Opacity that is the largest everywhere, and samples of 16 bits that all have an equal in 8
    /// bits, cost nothing. Colours of pixels that do not show are kept as they are.
    ///
    /// # Errors
    /// [`EncodeError::Analysis`] if the analysis fails, [`EncodeError::Codec`] if its coefficients do not fit together, or
    /// if planar samples have less than 8 or more than 16 bits.
    pub fn encode<'a>(&mut self, picture: impl Into<View<'a>>) -> Result<Stream, EncodeError> {
        let picture = picture.into();
        picture.format.check_bits()?;
        let extras = Extras::of(&picture);
        let mut coefficients = std::mem::take(&mut self.coefficients);
        let analysed = self.analysis.analyse(picture, &mut coefficients);
        let stream = analysed.map_err(EncodeError::from).and_then(|()| {
            let bits = if extras.deep_colour { self.max_bits } else { USUAL_BITS };
            let Some(alpha) = &extras.alpha else { return Ok(self.encode_deep(&coefficients, bits)?) };
            let alpha_bits = if extras.deep_alpha { self.max_bits } else { USUAL_BITS };
            self.encode_with_alpha(&coefficients, bits, (alpha.into(), alpha_bits))
        });
        self.coefficients = coefficients;
        stream
    }

    /// Encodes the coefficients of an analysis, for samples of 8 bits.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn encode_coefficients(&mut self, coefficients: &Coefficients) -> Result<Stream, Error> {
        self.encode_deep(coefficients, USUAL_BITS)
    }

    /// Encodes coefficients of an opaque picture of `bits` a sample.
    fn encode_deep(&mut self, coefficients: &Coefficients, bits: u8) -> Result<Stream, Error> {
        let planes = self.quantise(coefficients, fine_planes(bits))?;
        let threads = self.analysis.threads();
        let payloads = self.slices.code(planes, Limit::prefix(self.max_bytes), threads);
        self.bytes.reserve(MAX_HEADER + payloads + payloads / 8);
        self.header(coefficients, planes, bits, None).write(&mut self.bytes);
        let least = self.bytes.len();
        self.slices.write(&mut self.bytes);
        Ok(self.finish(least))
    }

    /// Encodes coefficients of a picture of `bits` a sample, with its opacity as a grey picture and the bits of that.
    fn encode_with_alpha(
        &mut self,
        coefficients: &Coefficients,
        bits: u8,
        (alpha, alpha_bits): (View<'_>, u8),
    ) -> Result<Stream, EncodeError> {
        let planes = self.quantise(coefficients, fine_planes(bits))?;
        let model = self.analysis.model();
        let threads = self.analysis.threads();
        let own = &mut self.alpha;
        let linear = own.linear.get_or_insert_with(|| Linear::new(Arc::clone(model)).with_threads(threads.count()));
        linear.analyse(alpha, &mut own.coefficients)?;
        let choices = Choices { fine_planes: fine_planes(alpha_bits), ..Choices::default() };
        let alpha_planes = own.slices.quantise(model, own.coefficients.bands(), choices, threads);
        // A segment needs the ends of all payloads, so the limit cuts the stream afterwards.
        let all = Limit::prefix(usize::MAX);
        let payloads = self.slices.code(planes, all, threads) + own.slices.code(alpha_planes, all, threads);
        let [mut colour, mut alpha] = [[planes, self.slices.fine_planes()], [alpha_planes, own.slices.fine_planes()]];
        if alpha_planes > 0 {
            alpha = [alpha_planes - ALPHA_DELAY_PLANES, alpha[1] + ALPHA_DELAY_PLANES];
        }
        let both = [0, 1].map(|end| colour[end].max(alpha[end]));
        colour = [0, 1].map(|end| both[end] - colour[end]);
        alpha = [0, 1].map(|end| both[end] - alpha[end]);
        self.slices.align(colour);
        own.slices.align(alpha);
        let coded = AlphaPlanes { planes: alpha_planes, fine_planes: own.slices.fine_planes() };
        self.bytes.reserve(MAX_HEADER + payloads + payloads / 8);
        self.header(coefficients, planes, bits.max(alpha_bits), Some(coded)).write(&mut self.bytes);
        let least = self.bytes.len();
        let all: Vec<_> = self.slices.coded().chain(self.alpha.slices.coded()).collect();
        interleave::write(&mut self.bytes, all.into_iter(), false);
        Ok(self.finish(least))
    }

    fn header(&self, coefficients: &Coefficients, planes: u8, bits: u8, alpha: Option<AlphaPlanes>) -> Header {
        let Coefficients { model, size, channels, axes, .. } = *coefficients;
        let (gains, fine_planes) = (self.slices.have_gains(), self.slices.fine_planes());
        Header { size, channels, model, planes, gains, axes, bits, fine_planes, alpha }
    }

    /// Returns the stream in memory, within the limit of bytes but with its `least` first ones.
    fn finish(&mut self, least: usize) -> Stream {
        self.bytes.truncate(self.max_bytes.max(least));
        Stream::of(self.bytes.split().freeze())
    }

    /// Makes the slices of these coefficients, with planes below the finest step, and returns the number of the planes
    /// from that step on.
    fn quantise(&mut self, coefficients: &Coefficients, fine_planes: u8) -> Result<u8, Error> {
        let Self { analysis, slices, rotations, masking, .. } = self;
        let model = &**analysis.model();
        coefficients.check(model.id())?;
        let masking = masking.as_ref().map(|(strength, norms)| (*strength, norms));
        let choices = Choices { rotations: *rotations, masking, fine_planes, isolated_end: 0 };
        Ok(slices.quantise(model, coefficients.bands(), choices, analysis.threads()))
    }

    /// Counts how often each adaptive probability codes a zero and a one while `coefficients` are coded. Such counts
    /// over many pictures give a model's priors (spec, "Model tables").
    ///
    /// # Errors
    /// As [`Encoder::encode_coefficients`].
    #[cfg(feature = "training")]
    pub fn count(&mut self, coefficients: &Coefficients) -> Result<Vec<[u64; 2]>, Error> {
        let planes = self.quantise(coefficients, 0)?;
        Ok(self.slices.count(planes))
    }

    /// Returns the slices of these coefficients before they are coded, and the number of their bit planes.
    #[cfg(feature = "training")]
    pub(crate) fn quantised(&mut self, coefficients: &Coefficients) -> Result<(&mut SliceEncoder, u8), Error> {
        let planes = self.quantise(coefficients, 0)?;
        Ok((&mut self.slices, planes))
    }
}

/// Returns how many planes below the finest step samples of this many bits need.
fn fine_planes(bits: u8) -> u8 {
    bits.saturating_sub(USUAL_BITS).min(MAX_FINE_PLANES)
}
