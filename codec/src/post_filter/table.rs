//! The table of taps, and its interpolation at a position.

use crate::error::Error;
use crate::post_filter::TOLD_LEVELS;
use crate::post_filter::classes::{ACTIVITY_CLASSES, DIRECTION_CLASSES};

/// Taps of luma's filters, and of chroma's.
pub(crate) const LUMA_TAPS: usize = 12;
pub(crate) const CHROMA_TAPS: usize = 14;
/// Taps of each component's filters.
pub(crate) const COMPONENT_TAPS: [usize; 3] = [LUMA_TAPS, CHROMA_TAPS, CHROMA_TAPS];
/// The truncation points that have a table, in bit planes.
pub(crate) const TABLE_CUTS: [u32; 3] = [1, 3, 5];
/// Classes of a block: by activity, direction and significance.
pub(crate) const BLOCK_CLASSES: usize = ACTIVITY_CLASSES * DIRECTION_CLASSES * (TOLD_LEVELS + 1);
/// Places of a sample in the finest level's grid: by the parities of its row and column.
pub(crate) const SAMPLE_PHASES: usize = 4;
/// Bytes of the step, and of the whole table: by component, cut, class, phase, tap.
const STEP_BYTES: usize = 2;
pub(crate) const TABLE_BYTES: usize =
    STEP_BYTES + TABLE_CUTS.len() * BLOCK_CLASSES * SAMPLE_PHASES * (LUMA_TAPS + 2 * CHROMA_TAPS);
/// The maximum to which differences are clipped, in 1/64 of a sample's step.
pub(super) const MAX_STEP: u16 = 8191;
/// The maximum sum of a filter's absolute taps, in 1/256, so that a correction fits in 16 bits.
pub(crate) const MAX_TAP_SUM: u32 = 511;
/// Samples of a row that share taps: half of them at even columns.
const RUN_SAMPLES: usize = 4;

/// A checked filter for planes of the linear synthesis, or of a network after it: the taps of all classes, in 1/256
/// (spec, "Post-filter").
#[derive(Debug, Clone)]
pub struct PostFilter {
    /// The clipping limit of differences at cut 0, in 1/64.
    step: u16,
    /// By component; in each by cut, class, phase, tap.
    taps: [Vec<i8>; 3],
}

impl PostFilter {
    /// Reads a post-filter from the bytes that follow the priors in model tables (spec, "Model tables"): 86,402 bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the rule that the bytes break.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let corrupt = |why| Error::Corrupt { what: "post-filter", why };
        let table = bytes.try_into().map_err(|_| corrupt("it does not have 86402 bytes"))?;
        Self::read(table).map_err(corrupt)
    }

    /// Reads a table of [`TABLE_BYTES`] bytes.
    ///
    /// # Errors
    /// The rule that the bytes break.
    pub(crate) fn read(bytes: &[u8; TABLE_BYTES]) -> Result<Self, &'static str> {
        let ([low, high], mut rest) = (&[bytes[0], bytes[1]], &bytes[STEP_BYTES..]);
        let step = u16::from_le_bytes([*low, *high]);
        if !(1..=MAX_STEP).contains(&step) {
            return Err("the post-filter's step is out of range");
        }
        let taps = COMPONENT_TAPS.map(|count| {
            let (own, after) = rest.split_at(TABLE_CUTS.len() * BLOCK_CLASSES * SAMPLE_PHASES * count);
            rest = after;
            own.iter().map(|&tap| tap.cast_signed()).collect::<Vec<i8>>()
        });
        let tame = |filter: &[i8]| filter.iter().map(|tap| u32::from(tap.unsigned_abs())).sum::<u32>() <= MAX_TAP_SUM;
        for (own, count) in taps.iter().zip(COMPONENT_TAPS) {
            if own.contains(&i8::MIN) || !own.chunks(count).all(tame) {
                return Err("a filter of the post-filter is out of range");
            }
        }
        Ok(Self { step, taps })
    }

    /// The numbers of memory that [`PostFilter::at`] takes.
    pub(crate) const FILTER_NUMBERS: usize = BLOCK_CLASSES * 2 * (LUMA_TAPS + 2 * CHROMA_TAPS) * RUN_SAMPLES;

    /// Returns the filters at a position in 2^-20 of a plane, in memory of [`PostFilter::FILTER_NUMBERS`].
    pub(crate) fn at<'a>(&self, position: i32, memory: &'a mut [i16]) -> Filters<'a> {
        let (luma, chroma) = memory[..Self::FILTER_NUMBERS].split_at_mut(BLOCK_CLASSES * 2 * LUMA_TAPS * RUN_SAMPLES);
        let (blue, red) = chroma.split_at_mut(BLOCK_CLASSES * 2 * CHROMA_TAPS * RUN_SAMPLES);
        let between = Between::new(position);
        let luma = runs(luma);
        let blue = runs(blue);
        let red = runs(red);
        between.fill(&self.taps[0], luma);
        between.fill(&self.taps[1], blue);
        between.fill(&self.taps[2], red);
        Filters { step: clipped_step(self.step, position), luma, chroma: [blue, red] }
    }

    /// Returns a tap of a component, in 1/32768, by its place among the taps of a cut.
    #[cfg(test)]
    fn tap(&self, component: usize, place: usize, between: Between) -> i16 {
        let of_cut = BLOCK_CLASSES * SAMPLE_PHASES * COMPONENT_TAPS[component];
        let tap = |cut: usize| i32::from(self.taps[component][cut * of_cut + place]);
        between.value(tap(between.first), tap(between.first + 1))
    }

    /// Returns the taps of one filter at a position, in 1/32768, and the clipping limit of differences.
    #[cfg(test)]
    pub(super) fn filter(&self, position: i32, [component, class, phase]: [usize; 3]) -> (Vec<i16>, i16) {
        let count = COMPONENT_TAPS[component];
        let between = Between::new(position);
        let taps = (0..count).map(|tap| self.tap(component, (class * SAMPLE_PHASES + phase) * count + tap, between));
        (taps.collect(), clipped_step(self.step, position))
    }

    /// Returns the clipping limit of differences at a position, in 1/64.
    #[cfg(feature = "training")]
    pub(crate) fn step_at(step: u16, position: i32) -> i16 {
        clipped_step(step, position)
    }
}

/// Returns `step` times about two to the power of the position, or 16 to that power below 0, where errors are the
/// quantiser's alone and the filter fades; it is linear between whole planes.
#[expect(clippy::cast_possible_truncation, reason = "at most MAX_STEP")]
fn clipped_step(step: u16, position: i32) -> i16 {
    let planes = position >> 20;
    let part = i64::from(position >> 12 & 255);
    let limit = if planes < 0 {
        (i64::from(step) * (256 + 15 * part)) >> (8 - 4 * planes)
    } else {
        ((i64::from(step) * (256 + part)) << planes.min(16)) >> 8
    };
    limit.min(MAX_STEP.into()) as i16
}

/// A position between two truncation points that have tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Between {
    /// The number of the finer one; the other one is the next.
    pub(crate) first: usize,
    /// The distance from the finer one towards the next, in 1/256.
    pub(crate) share: i32,
}

impl Between {
    pub(crate) fn new(position: i32) -> Self {
        let finest = TABLE_CUTS[0] * 256;
        // The distances between the truncation points are equal.
        let distance = (TABLE_CUTS[1] - TABLE_CUTS[0]) * 256;
        let from_finest = position.max(0).cast_unsigned() >> 12;
        let from_finest = from_finest.saturating_sub(finest).min((TABLE_CUTS[2] - TABLE_CUTS[0]) * 256);
        let first = u32::from(from_finest >= distance);
        let share = (from_finest - first * distance) * 256 / distance;
        Self { first: first as usize, share: share.cast_signed() }
    }

    /// Writes the filters of a component, by class and parity of the row, from its taps at all truncation points.
    fn fill<const N: usize>(self, taps: &[i8], filters: &mut [Runs<N>]) {
        let (of_cuts, _) = taps.as_chunks::<N>();
        let filters_of_cut = BLOCK_CLASSES * SAMPLE_PHASES;
        let [fine, coarse] = [0, 1].map(|next| of_cuts[(self.first + next) * filters_of_cut..].as_chunks::<2>().0);
        for ((runs, fine), coarse) in filters.iter_mut().zip(fine).zip(coarse) {
            let [even, odd] = [0, 1].map(|column| self.values(&fine[column], &coarse[column]));
            for (run, (even, odd)) in runs.iter_mut().zip(even.into_iter().zip(odd)) {
                *run = [even, odd, even, odd];
            }
        }
    }

    /// Returns the taps of one filter.
    fn values<const N: usize>(self, fine: &[i8; N], coarse: &[i8; N]) -> [i16; N] {
        std::array::from_fn(|tap| self.value(fine[tap].into(), coarse[tap].into()))
    }

    #[expect(clippy::cast_possible_truncation, reason = "taps are at most 127 either way, and 127 * 128 has 16 bits")]
    fn value(self, fine: i32, coarse: i32) -> i16 {
        ((fine * (256 - self.share) + coarse * self.share) >> 1) as i16
    }
}

/// Taps of a filter, in 1/32768, each for a run of four samples.
pub(super) type Runs<const N: usize> = [[i16; RUN_SAMPLES]; N];

/// The filters of a picture at its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filters<'a> {
    /// The clipping limit of differences, in 1/64.
    pub(super) step: i16,
    /// By class, and by the parity of the row.
    pub(super) luma: &'a [Runs<LUMA_TAPS>],
    pub(super) chroma: [&'a [Runs<CHROMA_TAPS>]; 2],
}

/// Views memory as filters.
fn runs<const N: usize>(memory: &mut [i16]) -> &mut [Runs<N>] {
    memory.as_chunks_mut::<RUN_SAMPLES>().0.as_chunks_mut().0
}
