//! Encodes residuals into bitstreams.

use bytes::{Bytes, BytesMut};

use crate::model::Model;
use crate::observer::Stage;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::residual::analysis::{self, Source};
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::stream::interleave::{Followed, Limit};
use crate::stream::slice_encoder::{Choices, FollowedEncoder};
use crate::subband::coefficients::Bands;
use crate::subband::layout::ChromaFormat;

/// Encodes residuals, one after another in the same memory.
#[derive(Debug)]
pub(crate) struct ResidualEncoder {
    threads: Threads,
    scratch: Scratch,
    /// The last residual.
    size: Size,
    subbands: Vec<Vec<f32>>,
    slices: FollowedEncoder,
    /// Isolated coefficients of the last residual in planes below this one were lowered.
    isolated_end: u8,
    bytes: BytesMut,
}

impl ResidualEncoder {
    /// Returns an encoder for these threads; the bitstreams do not depend on their number.
    pub(crate) fn new(threads: &Threads) -> Self {
        Self {
            threads: threads.clone(),
            scratch: Scratch::default(),
            size: Size::ONE,
            subbands: Vec::new(),
            slices: FollowedEncoder::default(),
            isolated_end: 0,
            bytes: BytesMut::new(),
        }
    }

    /// Returns the bit planes (0..=15) and the bitstream of a residual in 1/8 of a sample's step. With a limit of
    /// bytes, the bitstream is a prefix of the one without. A residual below the finest steps has no planes and no
    /// bytes.
    pub(crate) fn encode(&mut self, model: &Model, residual: &Planes420<i16>, max_bytes: usize) -> (u8, Bytes) {
        self.encode_from(model, (residual.size(), residual), Limit::prefix(max_bytes), 0)
    }

    /// As [`ResidualEncoder::encode`], of a residual of this size, row by row. Isolated coefficients in planes below
    /// `isolated_end` are lowered.
    pub(crate) fn encode_from(
        &mut self,
        model: &Model,
        residual: (Size, &impl Source),
        limit: Limit,
        isolated_end: u8,
    ) -> (u8, Bytes) {
        self.isolated_end = isolated_end;
        let planes = self.quantise(model, residual);
        if planes > 0 {
            let Self { slices, bytes, threads, .. } = self;
            let payloads = slices.code(planes, limit, threads);
            threads.end(Stage::Encode);
            bytes.reserve(payloads + payloads / 8);
            slices.write(bytes);
            bytes.truncate(limit.bytes);
        }
        (planes, self.bytes.split().freeze())
    }

    /// The slices of the last residual that had planes.
    pub(super) fn coded(&self) -> impl ExactSizeIterator<Item = &Followed> {
        self.slices.coded()
    }

    /// The coefficients of the last residual.
    #[cfg(feature = "training")]
    pub(crate) fn bands(&self) -> Bands<'_> {
        Bands { size: self.size, chroma: ChromaFormat::Half, subbands: &self.subbands, activity: &[] }
    }

    /// The slices of the last residual as they were before they were coded, their bit planes, and the coding passes in
    /// the bitstream.
    #[cfg(feature = "training")]
    pub(crate) fn uncoded(&mut self, model: &Model) -> (&mut FollowedEncoder, u8, usize) {
        let passes = self.slices.passes();
        let planes = self.slices_of_bands(model);
        (&mut self.slices, planes, passes)
    }

    fn quantise(&mut self, model: &Model, residual: (Size, &impl Source)) -> u8 {
        self.size = residual.0;
        analysis::analyse(model, residual, &self.threads, &self.scratch, &mut self.subbands);
        self.threads.end(Stage::Analysis);
        self.slices_of_bands(model)
    }

    fn slices_of_bands(&mut self, model: &Model) -> u8 {
        let bands = Bands { size: self.size, chroma: ChromaFormat::Half, subbands: &self.subbands, activity: &[] };
        let choices = Choices { isolated_end: self.isolated_end, ..Choices::default() };
        let planes = self.slices.quantise(model, bands, choices, &self.threads);
        self.threads.end(Stage::Quantise);
        planes
    }
}
