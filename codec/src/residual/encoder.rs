//! Residuals to strings.

use bytes::{Bytes, BytesMut};

use crate::model::Model;
use crate::residual::analysis;
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::stream::slice_encoder::SliceEncoder;
use crate::subband::coefficients::Bands;
use crate::subband::layout::ChromaFormat;

/// Codes residuals, one after another in the same memory.
#[derive(Debug)]
pub(crate) struct ResidualEncoder {
    threads: usize,
    scratch: Scratch,
    /// Memory of the residual before.
    subbands: Vec<Vec<f32>>,
    slices: SliceEncoder,
    bytes: BytesMut,
}

impl ResidualEncoder {
    /// On up to `threads` threads; the strings do not depend on it.
    pub(crate) fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        Self {
            threads,
            scratch: Scratch::default(),
            subbands: Vec::new(),
            slices: SliceEncoder::default(),
            bytes: BytesMut::new(),
        }
    }

    /// The bit planes (0..=15) and the string of a residual in 1/8 of a sample's step. With a limit of bytes the string
    /// is a prefix of the one without. A residual of less than the finest steps has no planes and no bytes.
    pub(crate) fn encode(&mut self, model: &Model, residual: &Planes420<i16>, max_bytes: usize) -> (u8, Bytes) {
        let planes = self.quantise(model, residual);
        if planes > 0 {
            let Self { slices, bytes, threads, .. } = self;
            let payloads = slices.code(planes, max_bytes, *threads);
            bytes.reserve(payloads + payloads / 8);
            slices.write(bytes);
            bytes.truncate(max_bytes);
        }
        (planes, self.bytes.split().freeze())
    }

    /// How often each adaptive probability meets a zero and a one while a residual is coded.
    #[cfg(feature = "training")]
    #[cfg_attr(not(test), expect(dead_code, reason = "tables of residuals are not trained yet"))]
    pub(crate) fn count(&mut self, model: &Model, residual: &Planes420<i16>) -> Vec<[u64; 2]> {
        let planes = self.quantise(model, residual);
        self.slices.count(planes)
    }

    fn quantise(&mut self, model: &Model, residual: &Planes420<i16>) -> u8 {
        let Self { threads, scratch, subbands, slices, .. } = self;
        analysis::analyse(model, residual, *threads, scratch, subbands);
        let bands = Bands { size: residual.size(), chroma: ChromaFormat::Half, subbands };
        slices.quantise(model, bands, false, *threads)
    }
}
