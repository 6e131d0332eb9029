//! What selects a probability (spec, "Contexts"): integers that both sides know at that symbol.

use crate::layout::{Band, Unit};

/// Bins of the expected magnitude: two an octave.
const BINS: usize = 20;
const CLASSES: usize = 2 * 4 * 3;
/// By class, bin, and whether the block or row was found non-zero and shows nothing yet.
const SIGNIFICANCE: usize = CLASSES * BINS * 2;
/// By class, number of coefficients in the quiet row, and whether the block shows nothing yet.
const QUIET: usize = CLASSES * 7 * 2;
/// By class, first or later refinement, and bin.
const REFINEMENT_BINS: usize = 8;
const REFINEMENT: usize = CLASSES * 2 * REFINEMENT_BINS;
/// By luma or chroma, band, side signs, above signs, luma's sign.
const SIGN: usize = 2 * 3 * 3 * 3 * 3;
/// By luma or chroma, near coefficients, active neighbours, parent, luma.
const BLOCK: usize = 2 * 3 * 4 * 2 * 2;
/// By component and level.
const UNIT: usize = 3 * 7;

const QUIET_BASE: usize = SIGNIFICANCE;
const REFINEMENT_BASE: usize = QUIET_BASE + QUIET;
const SIGN_BASE: usize = REFINEMENT_BASE + REFINEMENT;
const BLOCK_BASE: usize = SIGN_BASE + SIGN;
const UNIT_BASE: usize = BLOCK_BASE + BLOCK;
/// Number of adaptive probabilities of a stripe.
pub(crate) const CONTEXTS: usize = UNIT_BASE + UNIT;

/// From here on an expected magnitude is in the last bin.
const MANY: usize = 512;
/// The bin of every expected magnitude in 1/64 of a plane's step, up to `MANY`.
#[expect(clippy::cast_possible_truncation, reason = "there are twenty bins")]
const BIN: [u8; MANY + 1] = {
    let mut bins = [0; MANY + 1];
    let mut expected = 1_usize;
    while expected <= MANY {
        let octave = expected.ilog2();
        let half = (expected << 1 >> octave) & 1;
        bins[expected] = (1 + 2 * octave) as u8 + half as u8;
        expected += 1;
    }
    bins
};

/// The bin of an expected magnitude in 1/64 of a plane's step.
#[inline]
fn bin(expected: u16) -> usize {
    usize::from(BIN[usize::from(expected).min(MANY)])
}

/// Statistics that units share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    significance: usize,
    quiet: usize,
    refinement: usize,
    sign: usize,
    block: usize,
    unit: usize,
}

impl Class {
    pub(crate) fn of(unit: Unit) -> Self {
        let chroma = usize::from(unit.component > 0);
        let band = match unit.band {
            Band::Low | Band::Hl => 0,
            Band::Lh => 1,
            Band::Hh => 2,
        };
        let class = (chroma * 4 + unit.level.min(4) - 1) * 3 + band;
        let row = if unit.band == Band::Low { 0 } else { unit.level };
        Self {
            significance: class * BINS * 2,
            quiet: QUIET_BASE + class * 14,
            refinement: REFINEMENT_BASE + class * 2 * REFINEMENT_BINS,
            sign: SIGN_BASE + (chroma * 3 + band) * 27,
            block: BLOCK_BASE + chroma * (BLOCK / 2),
            unit: UNIT_BASE + unit.component * 7 + row,
        }
    }

    #[inline]
    pub(crate) fn significance(self, expected: u16, sought: bool) -> usize {
        self.significance + bin(expected) * 2 + sought as usize
    }

    /// For a row of `count` (2 to 8) coefficients around which nothing is known.
    #[inline]
    pub(crate) const fn quiet(self, count: u32, sought: bool) -> usize {
        self.quiet + (count as usize - 2) * 2 + sought as usize
    }

    #[inline]
    pub(crate) fn refinement(self, expected: u16, first: bool) -> usize {
        let bin = bin(expected) / 2;
        let bin = bin.saturating_sub(2);
        self.refinement + if first { 0 } else { REFINEMENT_BINS } + bin
    }

    /// Signs are -1, 0 or 1; `side` and `above` are sums of two.
    #[inline]
    pub(crate) fn sign(self, side: i8, above: i8, luma: i8) -> usize {
        let third = |sum: i8| usize::from((sum.signum() + 1).cast_unsigned());
        self.sign + (third(side) * 3 + third(above)) * 3 + third(luma)
    }

    #[inline]
    pub(crate) fn block(self, near: u32, active: usize, parent: bool, luma: bool) -> usize {
        let near = near.div_ceil(2).min(2) as usize;
        self.block + ((near * 4 + active.min(3)) * 2 + usize::from(parent)) * 2 + usize::from(luma)
    }

    pub(crate) const fn unit(self) -> usize {
        self.unit
    }
}
