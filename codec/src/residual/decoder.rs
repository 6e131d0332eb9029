//! Decodes residual bitstreams, as far as they arrived, into residuals.

use std::ops::Range;

use crate::error::Error;
use crate::model::Model;
use crate::observer::Stage;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::residual::encoder::ResidualEncoder;
use crate::residual::planes::{Planes420, plane_size};
use crate::residual::synthesis::{self, Fine, Rows, round};
use crate::simd::widest;
use crate::stream::slice_decoder::SliceDecoder;
use crate::subband::layout::ChromaFormat;
use crate::subband::quantise::MAX_PLANES;
use crate::subband::sparse::SparseBands;
use crate::subband::zone::Zone;
use crate::transform::Position;

/// Decodes residual bitstreams, one after another in the same memory.
#[derive(Debug)]
pub(crate) struct ResidualDecoder {
    threads: Threads,
    size: Size,
    slices: SliceDecoder,
    /// Memory of the residual before.
    subbands: SparseBands<i32>,
    scratch: synthesis::Memory,
}

impl ResidualDecoder {
    /// Returns a decoder for these threads; the residuals do not depend on their number.
    pub(crate) fn new(threads: &Threads) -> Self {
        Self {
            threads: threads.clone(),
            size: Size::ONE,
            slices: SliceDecoder::new(),
            subbands: SparseBands::default(),
            scratch: synthesis::Memory::default(),
        }
    }

    /// Begins the bitstream of a residual of this size with `planes` bit planes, at most 15.
    pub(crate) fn start(&mut self, size: Size, planes: u8) {
        self.size = size;
        self.slices.start(size, ChromaFormat::Half, planes.min(MAX_PLANES), false);
    }

    /// Takes the next bytes of the bitstream, any number of them, and decodes all symbols that they determine.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a length is corrupt; the bytes before it are decoded.
    pub(crate) fn push(&mut self, model: &Model, bytes: &[u8]) -> Result<(), Error> {
        let pushed = self.slices.push(model, bytes, &self.threads);
        self.threads.end(Stage::Decode);
        pushed.map_err(|why| Error::Corrupt { what: "frame", why })
    }

    /// As [`ResidualDecoder::push`], of bytes that `encoder` has just made: it follows the encoder's symbols and
    /// decodes none.
    ///
    /// # Errors
    /// As [`ResidualDecoder::push`], which does not happen.
    pub(crate) fn follow(&mut self, model: &Model, encoder: &ResidualEncoder, bytes: &[u8]) -> Result<(), Error> {
        let followed = self.slices.follow(model, encoder.coded(), bytes, &self.threads);
        self.threads.end(Stage::Decode);
        followed.map_err(|why| Error::Corrupt { what: "frame", why })
    }

    /// Returns how far the bytes pushed so far reach (spec, "Position").
    pub(crate) fn position(&self) -> Position {
        self.slices.position()
    }

    /// Marks, by component, the blocks of 4 x 4 samples at which the bytes pushed so far have significant coefficients.
    pub(crate) fn write_significance(&self, out: &mut [Vec<u8>; 3]) {
        self.slices.colours().write_significance(out, &self.threads);
    }

    /// Fills `out` with the limits of a zone's coefficients, as far as the bytes pushed so far leave them unknown (spec,
    /// "Recall"); it has [`Zone::coefficients`].
    pub(crate) fn limits_into(&self, model: &Model, zone: &Zone, out: &mut [i16]) {
        let limits = |index: usize| {
            let dequantiser = &model.subbands[index].dequantiser;
            std::array::from_fn(|plane| dequantiser.limit(plane))
        };
        self.slices.colours().write_limits(zone, limits, (&self.threads, out));
    }

    /// Fills `out` with the residual of the bytes pushed so far, in 1/8 of a sample's step, each -4096..=4095.
    pub(crate) fn residual_into(&mut self, model: &Model, out: &mut Planes420<i16>) {
        out.resize(self.size);
        self.residual(model, keep(out));
    }

    /// Makes the residual of the bytes pushed so far. `rows` returns what takes these rows of a plane, as
    /// [`synthesis::synthesise`] calls it.
    pub(crate) fn residual<R: Rows>(&mut self, model: &Model, rows: impl FnMut(usize, Range<usize>) -> R + Send) {
        let Self { threads, size, slices, subbands, scratch } = self;
        slices.colours().write_sparse(subbands, threads, |slice, rows| {
            slice.write_sparse(rows, |index| {
                let dequantiser = &model.subbands[index].dequantiser;
                |magnitude, plane| dequantiser.value(magnitude, plane)
            });
        });
        threads.end(Stage::Dequantise);
        synthesis::synthesise(&model.integer_wavelet, subbands, *size, (threads, scratch), rows);
        threads.end(Stage::Synthesis);
    }
}

/// Returns what keeps a residual as it is.
pub(super) fn keep<'a>(out: &'a mut Planes420<i16>) -> impl FnMut(usize, Range<usize>) -> Kept<'a> + Send {
    let size = out.size();
    let mut planes = out.planes_mut();
    move |plane, rows| {
        let width = plane_size(size, plane).width();
        let samples = planes[plane].split_off_mut(..rows.len() * width).unwrap_or_default();
        Kept { first: rows.start, width, samples }
    }
}

/// Rows of a residual's plane, kept as they are.
pub(super) struct Kept<'a> {
    first: usize,
    width: usize,
    samples: &'a mut [i16],
}

impl Rows for Kept<'_> {
    fn take<T: Fine>(&mut self, y: usize, samples: &[T]) {
        widest!(round(samples, &mut self.samples[(y - self.first) * self.width..][..self.width]));
    }
}
