//! Codes coefficients into the interleaved payloads of their slices.

use std::ops::Range;

use bytes::BytesMut;

use crate::bitplane::passes::PASSES_PER_PLANE;
use crate::bitplane::slice::Slice;
use crate::entropy::record::Record;
use crate::entropy::symbols::Symbols;
use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::stream::interleave::{self, Coded, Limit};
use crate::stream::slice_coder::SliceCoder;
use crate::subband::activity::{Activity, GainRule, Norms};
use crate::subband::coefficients::Bands;
use crate::subband::layout::{self, BitPlanes, SUBBAND_COUNT};
use crate::subband::rotation_search::RotationSearch;

/// Codes the coefficients of pictures, one picture after another in the same memory.
#[derive(Debug, Default)]
pub(crate) struct SliceEncoder<R = ()> {
    sources: Vec<Source>,
    coder: SliceCoder<R>,
    /// Planes of the Levels below the finest step.
    fine_planes: u8,
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
    /// Bit planes of the Levels from the finest step on; `None` if magnitudes have no room next to the planes below.
    planes: Option<u8>,
}

/// What an encoder may choose for a picture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Choices<'a> {
    /// Whether regions may be rotated, if there are any.
    pub(crate) rotations: bool,
    /// The strength of the regions' gains by activity, and the norms of the wavelet; `None` for no gains.
    pub(crate) masking: Option<(f32, &'a Norms)>,
    /// Planes below the finest step, unless magnitudes are too large for as many.
    pub(crate) fine_planes: u8,
    /// [Isolated coefficients](crate::bitplane::isolated) in planes below this one are lowered.
    pub(crate) isolated_end: u8,
}

impl<R: Record> SliceEncoder<R> {
    /// Makes the Levels of these coefficients and returns the number of their bit planes from the finest step on.
    pub(crate) fn quantise(&mut self, model: &Model, bands: Bands<'_>, choices: Choices<'_>, threads: &Threads) -> u8 {
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
        let isolated_end = choices.isolated_end;
        let work = |source: &mut Source| source.quantise(model, steps.as_ref(), gains, bands, isolated_end);
        parallel::for_each(threads, self.sources.iter_mut(), work);
        // Without planes below the finest step all magnitudes fit.
        let planes = self.sources.iter().filter_map(|source| source.planes).max().unwrap_or(0);
        let mut fits_with = |fine: u8| {
            let again = |source: &mut Source| {
                source.quantise_again(model, BitPlanes { usual: planes, fine }, bands, isolated_end)
            };
            parallel::for_each(threads, self.sources.iter_mut(), again);
            self.sources.iter().all(|source| source.planes.is_some())
        };
        let wanted = choices.fine_planes;
        // With none they fit.
        let fine = if wanted == 0 { 0 } else { (0..=wanted).rev().find(|&fine| fits_with(fine)).unwrap_or(0) };
        self.fine_planes = if self.sources.iter().any(|source| source.slice.has_source()) { fine } else { 0 };
        if !self.have_gains() {
            self.sources.iter_mut().for_each(|source| source.slice.gains.reset());
        }
        planes
    }

    /// Returns the planes of these Levels below the finest step.
    pub(crate) const fn fine_planes(&self) -> u8 {
        self.fine_planes
    }

    /// Returns whether the regions of these Levels have gains.
    pub(crate) fn have_gains(&self) -> bool {
        self.sources.iter().any(|source| source.slice.gains.is_any())
    }

    /// Codes these Levels from plane `planes` - 1 down to the last below the finest step, or until all bytes within the
    /// limit are final. Returns the bytes of all payloads.
    pub(crate) fn code(&mut self, planes: u8, limit: Limit, threads: &Threads) -> usize {
        let Self { sources, coder, fine_planes, .. } = self;
        coder.code(sources.iter_mut().map(|source| &mut source.slice), planes + *fine_planes, limit, threads);
        self.shortens = limit.shortens;
        self.coder.coded().map(|slice| slice.bytes.len()).sum()
    }

    /// Appends the coded slices, interleaved.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        interleave::write(out, self.coder.coded(), self.shortens);
    }

    /// Replaces the ends of coding passes by those of passes over whole planes, with `above` planes before these and
    /// `below` planes after them, so that slices of other components and planes have as many. All planes were coded.
    pub(crate) fn align(&mut self, [above, below]: [u8; 2]) {
        let ends = [above, below].map(|planes| PASSES_PER_PLANE * usize::from(planes));
        let passes = self.sources.first().map_or(1, |source| source.slice.passes());
        self.coder.align(ends, passes);
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
    /// `steps`: the steps of the subbands, if regions may be rotated. `gains`: the rule for their gains, if they are
    /// scaled. `isolated_end`: as [`Choices::isolated_end`].
    fn quantise(
        &mut self,
        model: &Model,
        steps: Option<&[f32; SUBBAND_COUNT]>,
        gains: Option<GainRule>,
        bands: Bands<'_>,
        isolated_end: u8,
    ) {
        let Self { rows, slice, search, activity, line, planes } = self;
        slice.reset(model, bands.chroma, bands.size.width(), rows.len());
        if let Some(rule) = gains {
            slice.gains.set_source(bands.size.width(), rows.len(), activity.gains(rule));
        }
        if let Some(steps) = steps {
            slice.rotations.set_source(search.run(steps, bands, rows));
        }
        *planes = slice.set_source(model, bands, rows, line, isolated_end);
    }

    /// Does it with other bit planes, and the same rotations and gains.
    fn quantise_again(&mut self, model: &Model, bit_planes: BitPlanes, bands: Bands<'_>, isolated_end: u8) {
        let Self { rows, slice, line, planes, .. } = self;
        slice.clear_source(bit_planes);
        *planes = slice.set_source(model, bands, rows, line, isolated_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::axes::Axes;
    use crate::picture::{Channels, Size};
    use crate::subband::coefficients::Coefficients;

    #[test]
    fn magnitudes_that_leave_no_room_have_fewer_planes_below_the_finest_step() {
        /// HL of level 1 of luma, and LL.
        const FINEST_AND_COARSEST: [usize; 2] = [48, 0];
        let model = Model::photo();
        let size = Size::new(64, 64).expect("a size");
        for (subband, steps, expected) in [
            (FINEST_AND_COARSEST[0], 500.5, (9, 6)),
            (FINEST_AND_COARSEST[0], 2000.5, (11, 4)),
            (FINEST_AND_COARSEST[1], 2000.5, (11, 6)),
            (FINEST_AND_COARSEST[0], 1e9, (15, 0)),
            (FINEST_AND_COARSEST[0], 0.5, (0, 6)),
            (FINEST_AND_COARSEST[0], 0.0, (0, 0)),
        ] {
            let mut coefficients = Coefficients::default();
            coefficients.reset_to_zero(model.id(), size, Channels::Grey, Axes::default());
            coefficients.subbands[subband][0] = -steps * model.subbands[subband].step;
            let choices = Choices { fine_planes: 6, ..Choices::default() };
            let mut encoder = SliceEncoder::<()>::default();
            let planes = encoder.quantise(&model, coefficients.bands(), choices, &Threads::new(1));
            assert_eq!((planes, encoder.fine_planes()), expected, "{steps} steps of subband {subband}");
        }
    }
    #[test]
    fn isolated_coefficients_need_one_plane_less() {
        let model = Model::photo();
        let size = Size::new(64, 64).expect("a size");
        // HL of level 1 of luma: 32 coefficients a row. The second one lies in another code block, the third in the same.
        let (subband, places) = (48, [0, 8, 33]);
        for (count, end, expected) in [(1, 0, 7), (1, 6, 7), (1, 7, 6), (1, 17, 6), (2, 7, 6), (3, 7, 7)] {
            let mut coefficients = Coefficients::default();
            coefficients.reset_to_zero(model.id(), size, Channels::Grey, Axes::default());
            for place in &places[..count] {
                coefficients.subbands[subband][*place] = -66.5 * model.subbands[subband].step;
            }
            let choices = Choices { isolated_end: end, ..Choices::default() };
            let planes =
                SliceEncoder::<()>::default().quantise(&model, coefficients.bands(), choices, &Threads::new(1));
            assert_eq!(planes, expected, "{count} coefficients, planes below {end}");
        }
    }
}
