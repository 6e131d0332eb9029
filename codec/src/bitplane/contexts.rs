//! The selection of probabilities (spec, "Contexts"): integers that both sides know before each symbol.
//!
//! Prior art: EBCOT (Taubman, "High performance scalable image compression with EBCOT", IEEE Trans. Image Processing
//! 9(7), 2000, section III) selects by the number of significant neighbours, and codes signs by the neighbours in the
//! row and the column. Here trained weights sum the magnitudes around a coefficient. The sums also cover scales, as in
//! EZBC (Hsiang and Woods, "Embedded image coding using zeroblocks of subband/wavelet coefficients and context
//! modeling", ISCAS 2000), bands, and chroma from luma.

use crate::model::TABLE_PRIORS;
use crate::subband::layout::{Band, Subband};
use crate::subband::rotation::{ANGLE_BITS, MAX_ROTATIONS};

/// Bins of the expected magnitude: two an octave.
const MAGNITUDE_BINS: usize = 20;
const SUBBAND_CLASSES: usize = 2 * 4 * 3;
/// By bin, and whether the code block became non-zero in this plane, or the run must contain a one, and none was found
/// yet.
const SIGNIFICANCE_CONTEXTS: usize = MAGNITUDE_BINS * 2;
/// The known state at the same place in other bands and components: how many of the two other bands are significant
/// there; in chroma also whether luma is: not, since this plane, or before.
const CROSS_BAND: [usize; 2] = [3, 3 * 3];
/// By class, number of coefficients in the run, and whether the code block became non-zero in this plane and shows none
/// yet.
const ZERO_RUN: usize = SUBBAND_CLASSES * 7 * 2;
/// By class, first or later refinement, and bin.
const REFINEMENT_BINS: usize = 8;
const REFINEMENT_CONTEXTS: usize = SUBBAND_CLASSES * 2 * REFINEMENT_BINS;
/// By band; then the signs in the row and in the column, in chroma also luma's sign and the predicted one. A
/// constellation of signs and its opposite share a context.
const SIGN_CONTEXTS: [usize; 2] = [9_usize.div_ceil(2), 81_usize.div_ceil(2)];
/// By near coefficients, non-zero neighbours, parent, other bands; in chroma also luma.
const CODE_BLOCK: [usize; 2] = [3 * 4 * 3 * 3, 3 * 4 * 3 * 3 * 3];
/// By component and level.
const SUBBAND_CONTEXTS: usize = 3 * 7;

const ZERO_RUN_BASE: usize = SUBBAND_CLASSES / 2 * SIGNIFICANCE_CONTEXTS * (CROSS_BAND[0] + CROSS_BAND[1]);
const REFINEMENT_BASE: usize = ZERO_RUN_BASE + ZERO_RUN;
const SIGN_BASE: usize = REFINEMENT_BASE + REFINEMENT_CONTEXTS;
const CODE_BLOCK_BASE: usize = SIGN_BASE + 3 * (SIGN_CONTEXTS[0] + SIGN_CONTEXTS[1]);
const SUBBAND_BASE: usize = CODE_BLOCK_BASE + CODE_BLOCK[0] + CODE_BLOCK[1];
/// Whether a region is rotated like the one to its left, by which of the regions left, above and diagonally between are
/// alike.
const LIKE_LEFT: usize = SUBBAND_BASE + SUBBAND_CONTEXTS;
/// Whether it is rotated like the one above, if that and the one to the left differ.
const LIKE_ABOVE: usize = LIKE_LEFT + 5;
/// Whether its rotation is a new one, by the number of rotations so far.
const NEW_ROTATION: usize = LIKE_ABOVE + 3;
/// The bits of a rotation's number, by node of their tree.
const ROTATION_CONTEXT: usize = NEW_ROTATION + MAX_ROTATIONS - 1;
/// The bits of an angle, by axis and node of their tree.
const ANGLE_CONTEXT: usize = ROTATION_CONTEXT + (MAX_ROTATIONS - 1);
const ANGLE_NODES: usize = (1 << ANGLE_BITS) - 1;
/// Whether a region's gain is the guessed one, by what is known around it.
const GUESSED_GAIN: usize = ANGLE_CONTEXT + 3 * ANGLE_NODES;
const _: () = assert!(GUESSED_GAIN == TABLE_PRIORS, "the tables have a prior for every context but those of gains");
/// What is known around a region: no gain, one, several that are equal, several that differ.
const GAINS_AROUND: usize = 4;
/// Whether another gain is lower, by what is known around it.
const LOWER_GAIN: usize = GUESSED_GAIN + GAINS_AROUND;
/// Whether another gain is further from the guessed one, by what is known around it and the steps so far.
const FURTHER_GAIN: usize = LOWER_GAIN + GAINS_AROUND;
const FURTHER_STEPS: usize = 3;
/// The number of a slice's adaptive probabilities.
#[cfg(feature = "training")]
pub(crate) const SLICE_CONTEXTS: usize = TABLE_PRIORS + GAIN_PRIORS.len();
/// The priors of gains (spec, "Probabilities"), in 1/65536.
pub(crate) const GAIN_PRIORS: [u16; GAINS_AROUND * (2 + FURTHER_STEPS)] = [
    38_912, 41_472, 54_784, 34_048, // guessed
    29_952, 18_176, 13_312, 20_480, // lower
    9_984, 8_704, 8_192, 11_008, 14_336, 8_192, 6_144, 8_192, 8_192, 5_632, 4_096, 4_096, // further
];

/// The smallest expected magnitude of the last bin, in 1/64 of a plane's step.
const LAST_BIN: usize = 512;
/// The bin of every expected magnitude in 1/64 of a plane's step, up to [`LAST_BIN`].
static BIN_BY_MAGNITUDE: Bins = bins(1);
/// These bins times the number of contexts in a bin, by [`CROSS_BAND`].
static SIGNIFICANCE_BINS: [Bins; 2] = [bins(2 * CROSS_BAND[0]), bins(2 * CROSS_BAND[1])];
type Bins = [u16; LAST_BIN + 1];

#[expect(clippy::cast_possible_truncation, reason = "there are twenty bins")]
const fn bins(factor: usize) -> Bins {
    let mut bins = [0; LAST_BIN + 1];
    let mut expected = 1_usize;
    while expected <= LAST_BIN {
        let octave = expected.ilog2() as usize;
        let half = (expected << 1 >> octave) & 1;
        bins[expected] = ((1 + 2 * octave + half) * factor) as u16;
        expected += 1;
    }
    bins
}

/// Three times the sign of the sum of two signs, plus the sign of the sum of two others. The index has these four signs
/// as digits of base 3, in which 2 is a negative one.
static SIGNS_AROUND: [i8; 81] = {
    let mut signs = [0; 81];
    let mut at = 0;
    while at < 81 {
        let horizontal = SUM_OF_TWO[at % 9];
        let above = SUM_OF_TWO[at / 9];
        signs[at] = 3 * horizontal + above;
        at += 1;
    }
    signs
};
/// The sign of the sum of two signs.
const SUM_OF_TWO: [i8; 9] = [0, 1, -1, 1, 1, 0, -1, 0, -1];

/// Returns the table's entry for an expected magnitude in 1/64 of a plane's step.
#[inline(always)]
fn bin(bins: &Bins, expected_magnitude: u32) -> usize {
    usize::from(bins[(expected_magnitude as usize).min(LAST_BIN)])
}

/// The context of whether a region is rotated like the one to its left, by the numbers of the rotations left, above,
/// and diagonally between.
pub(crate) const fn like_left(left: usize, above: usize, between: usize) -> usize {
    LIKE_LEFT + if left == above { 3 + (between == left) as usize } else { odd(left, above, between) }
}

/// The context of whether it is rotated like the one above, if left and above differ.
pub(crate) const fn like_above(left: usize, above: usize, between: usize) -> usize {
    LIKE_ABOVE + odd(left, above, between)
}

const fn odd(left: usize, above: usize, between: usize) -> usize {
    if between == left {
        1
    } else if between == above {
        2
    } else {
        0
    }
}

/// `count`: number of rotations so far, 1 to 7.
pub(crate) const fn new_rotation(count: usize) -> usize {
    NEW_ROTATION + count - 1
}

/// `node`: 1 to 7.
pub(crate) const fn rotation(node: usize) -> usize {
    ROTATION_CONTEXT + node - 1
}

/// `node`: 1 to 63.
pub(crate) const fn angle(axis: usize, node: usize) -> usize {
    ANGLE_CONTEXT + axis * ANGLE_NODES + node - 1
}

/// The context of whether a region's gain is the guessed one. `around`: 0 to 3, what is known around it.
pub(crate) const fn guessed_gain(around: usize) -> usize {
    GUESSED_GAIN + around
}

/// The context of whether another gain is lower than the guessed one.
pub(crate) const fn lower_gain(around: usize) -> usize {
    LOWER_GAIN + around
}

/// The context of whether another gain is further from the guessed one than `steps`, 1 or more.
pub(crate) fn further_gain(around: usize, steps: usize) -> usize {
    FURTHER_GAIN + around * FURTHER_STEPS + steps.min(FURTHER_STEPS) - 1
}

/// The contexts that several subbands share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    significance: usize,
    significance_bins: &'static Bins,
    /// The number of values of `cross_band`.
    cross_band: usize,
    zero_run: usize,
    refinement: usize,
    sign: usize,
    code_block: usize,
    subband: usize,
}

impl Class {
    pub(crate) fn of(subband: Subband) -> Self {
        let chroma = usize::from(subband.component > 0);
        let band = match subband.band {
            Band::Low | Band::Hl => 0,
            Band::Lh => 1,
            Band::Hh => 2,
        };
        let class = (chroma * 4 + subband.level.min(4) - 1) * 3 + band;
        let row = if subband.band == Band::Low { 0 } else { subband.level };
        let before = chroma * (SUBBAND_CLASSES / 2);
        Self {
            significance: SIGNIFICANCE_CONTEXTS * (before * CROSS_BAND[0] + (class - before) * CROSS_BAND[chroma]),
            significance_bins: &SIGNIFICANCE_BINS[chroma],
            cross_band: CROSS_BAND[chroma],
            zero_run: ZERO_RUN_BASE + class * 14,
            refinement: REFINEMENT_BASE + class * 2 * REFINEMENT_BINS,
            sign: SIGN_BASE + chroma * 3 * SIGN_CONTEXTS[0] + band * SIGN_CONTEXTS[chroma],
            code_block: CODE_BLOCK_BASE + chroma * CODE_BLOCK[0],
            subband: SUBBAND_BASE + subband.component * 7 + row,
        }
    }

    /// `cross_band`: 0 to 2, the number of other bands; in chroma three times that, plus 0 to 2 for luma.
    #[inline(always)]
    pub(crate) fn significance(self, expected_magnitude: u32, must_hold_one: bool, cross_band: usize) -> usize {
        let known = self.significance + if must_hold_one { self.cross_band } else { 0 } + cross_band;
        known + bin(self.significance_bins, expected_magnitude)
    }

    /// The context of a run of `count` coefficients (2 to 8; others are no run) around which nothing is known.
    #[inline(always)]
    pub(crate) const fn zero_run(self, count: u32, must_hold_one: bool) -> usize {
        self.zero_run - 4 + count as usize * 2 + must_hold_one as usize
    }

    #[inline(always)]
    pub(crate) fn refinement(self, expected_magnitude: u32, first: bool) -> usize {
        let bin = bin(&BIN_BY_MAGNITUDE, expected_magnitude) / 2;
        let bin = bin.saturating_sub(2);
        self.refinement + if first { 0 } else { REFINEMENT_BINS } + bin
    }

    /// Returns whether a negative sign is coded as a zero, and the context. `around`: the known levels left and right,
    /// above and below; `luma`: luma's sign and the one predicted from it, each -1, 0 or 1; `None` in luma itself.
    #[inline(always)]
    pub(crate) fn sign(self, [left, right, above, below]: [u16; 4], luma: Option<(i8, i8)>) -> (bool, usize) {
        // 0 for zero, 1 for a positive number, 2 for a negative one.
        let three = |level: u16| (usize::from(level) + 0x7FFF) >> 15;
        let own = SIGNS_AROUND[three(left) + 3 * three(right) + 9 * (three(above) + 3 * three(below))];
        let all = luma.map_or(own, |(sign, predicted)| own * 9 + sign * 3 + predicted);
        (all < 0, self.sign + usize::from(all.unsigned_abs()))
    }

    /// The context of whether a code block is non-zero. It depends on the numbers of its coefficients near a
    /// significant one, of adjacent non-zero code blocks, and of significant coefficients at its place in the parent,
    /// the other bands, and luma.
    #[inline(always)]
    pub(crate) fn code_block(self, near: u32, nonzero: usize, parent: u32, others: u32, luma: Option<u32>) -> usize {
        let near = near.div_ceil(2).min(2) as usize;
        let third = |count: u32, high: u32| usize::from(count > 0) + usize::from(count >= high);
        let own = ((near * 4 + nonzero.min(3)) * 3 + third(parent, 3)) * 3 + third(others, 4);
        self.code_block + luma.map_or(own, |luma| own * 3 + third(luma, 4))
    }

    /// The context of whether a subband is non-zero.
    pub(crate) const fn subband(self) -> usize {
        self.subband
    }
}
