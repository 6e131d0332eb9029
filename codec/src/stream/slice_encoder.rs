//! Codes coefficients into the interleaved payloads of their slices.

use std::ops::Range;

use bytes::BytesMut;

use crate::bitplane::slice::Slice;
use crate::entropy::record::Record;
use crate::entropy::symbols::Symbols;
use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::stream::interleave::{self, Coded, Limit};
use crate::stream::slice_coder::SliceCoder;
use crate::subband::activity::{Activity, GainRule, Norms};
use crate::subband::coefficients::Bands;
use crate::subband::layout::{self, SUBBANDS};
use crate::subband::rotation_search::RotationSearch;

/// Codes the coefficients of pictures, one picture after another in the same memory.
#[derive(Debug, Default)]
pub(crate) struct SliceEncoder<R = ()> {
    sources: Vec<Source>,
    coder: SliceCoder<R>,
    /// Whether the limit of the last [`SliceEncoder::code`] shortens a segment.
    shortens: bool,
}

/// As [`SliceEncoder`]; the symbols of its slices can be followed.
pub(crate) type FollowedEncoder = SliceEncoder<Symbols>;

/// Turns one slice's coefficients into Levels.
#[derive(Debug, Default)]
struct Source {
    rows: Range<usize>,
    slice: Slice,
    search: RotationSearch,
    activity: Activity,
    /// A row of a subband with rotated or scaled regions.
    line: Vec<f32>,
    /// Bit planes of the Levels.
    planes: u8,
}

/// What an encoder may choose for the regions of a picture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegionChoices<'a> {
    /// Whether they may be rotated, if there are any.
    pub(crate) rotations: bool,
    /// The strength of the gains by activity, and the norms of the wavelet; `None` for no gains.
    pub(crate) masking: Option<(f32, &'a Norms)>,
}

impl<R: Record> SliceEncoder<R> {
    /// Makes the Levels of these coefficients and returns the number of their bit planes.
    pub(crate) fn quantise(
        &mut self,
        model: &Model,
        bands: Bands<'_>,
        choices: RegionChoices<'_>,
        threads: &Threads,
    ) -> u8 {
        let slices = layout::slices(bands.size);
        self.sources.resize_with(slices.len(), Source::default);
        for (source, rows) in self.sources.iter_mut().zip(slices) {
            source.rows = rows;
        }
        let gains = choices.masking.and_then(|(strength, norms)| {
            let measure = |source: &mut Source| source.activity.measure(norms, bands, &source.rows);
            parallel::for_each(threads, self.sources.iter_mut(), measure);
            GainRule::new(strength, self.sources.iter().map(|source| &source.activity))
        });
        let steps = choices.rotations.then(|| model.steps());
        let work = |source: &mut Source| source.quantise(model, steps.as_ref(), gains, bands);
        parallel::for_each(threads, self.sources.iter_mut(), work);
        if !self.have_gains() {
            self.sources.iter_mut().for_each(|source| source.slice.gains.reset());
        }
        self.sources.iter().map(|source| source.planes).max().unwrap_or(0)
    }

    /// Returns whether the regions of these Levels have gains.
    pub(crate) fn have_gains(&self) -> bool {
        self.sources.iter().any(|source| source.slice.gains.is_any())
    }

    /// Codes these Levels from plane `planes` - 1 down to the last, or until all bytes within the limit are final.
    /// Returns the bytes of all payloads.
    pub(crate) fn code(&mut self, planes: u8, limit: Limit, threads: &Threads) -> usize {
        let Self { sources, coder, .. } = self;
        coder.code(sources.iter_mut().map(|source| &mut source.slice), planes, limit, threads);
        self.shortens = limit.shortens;
        self.coder.coded().map(|slice| slice.bytes.len()).sum()
    }

    /// Appends the coded slices, interleaved.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        interleave::write(out, self.coder.coded(), self.shortens);
    }

    /// The coded slices.
    pub(crate) fn coded(&self) -> impl ExactSizeIterator<Item = &Coded<R>> {
        self.coder.coded()
    }

    /// The coding passes that [`SliceEncoder::code`] completed in every slice.
    #[cfg(feature = "training")]
    pub(crate) fn passes(&self) -> usize {
        self.coder.coded().map(|slice| slice.marks.len()).min().unwrap_or(0)
    }

    /// The slices that [`SliceEncoder::quantise`] made.
    #[cfg(feature = "training")]
    pub(crate) fn slices(&mut self) -> impl Iterator<Item = &mut Slice> {
        self.sources.iter_mut().map(|source| &mut source.slice)
    }
}

impl Source {
    /// `steps`: the steps of the subbands, if regions may be rotated. `gains`: the rule for their gains, if they are scaled.
    fn quantise(&mut self, model: &Model, steps: Option<&[f32; SUBBANDS]>, gains: Option<GainRule>, bands: Bands<'_>) {
        let Self { rows, slice, search, activity, line, planes } = self;
        slice.reset(model, bands.chroma, bands.size.width(), rows.len());
        if let Some(rule) = gains {
            slice.gains.set_source(bands.size.width(), rows.len(), activity.gains(rule));
        }
        if let Some(steps) = steps {
            slice.rotations.set_source(search.run(steps, bands, rows));
        }
        *planes = slice.set_source(model, bands, rows, line);
    }
}
