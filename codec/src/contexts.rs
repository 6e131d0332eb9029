//! What selects a probability (spec, "Contexts"): integers that both sides know at that symbol.

use crate::layout::{Band, Unit};
use crate::regions::MOST;
use crate::rotation::ANGLE_BITS;

/// Bins of the expected magnitude: two an octave.
const BINS: usize = 20;
const CLASSES: usize = 2 * 4 * 3;
/// By bin, and whether the block or row was found non-zero and shows nothing yet.
const SIGNIFICANCE: usize = BINS * 2;
/// What else is known at a coefficient's place: how many of the two other bands are significant there; in chroma also
/// whether luma is: not, since this plane, or before.
const KIN: [usize; 2] = [3, 3 * 3];
/// By class, number of coefficients in the quiet row, and whether the block shows nothing yet.
const QUIET: usize = CLASSES * 7 * 2;
/// By class, first or later refinement, and bin.
const REFINEMENT_BINS: usize = 8;
const REFINEMENT: usize = CLASSES * 2 * REFINEMENT_BINS;
/// By band; then side signs and above signs, in chroma also luma's sign and what it says of this one. What all signs
/// turned round would give is the same context.
const SIGN: [usize; 2] = [9_usize.div_ceil(2), 81_usize.div_ceil(2)];
/// By near coefficients, active neighbours, parent, other bands; in chroma also luma.
const BLOCK: [usize; 2] = [3 * 4 * 3 * 3, 3 * 4 * 3 * 3 * 3];
/// By component and level.
const UNIT: usize = 3 * 7;

const QUIET_BASE: usize = CLASSES / 2 * SIGNIFICANCE * (KIN[0] + KIN[1]);
const REFINEMENT_BASE: usize = QUIET_BASE + QUIET;
const SIGN_BASE: usize = REFINEMENT_BASE + REFINEMENT;
const BLOCK_BASE: usize = SIGN_BASE + 3 * (SIGN[0] + SIGN[1]);
const UNIT_BASE: usize = BLOCK_BASE + BLOCK[0] + BLOCK[1];
/// Whether a region is rotated like the one to its left: by which of that, the one above and the one between are alike.
const LIKE_LEFT: usize = UNIT_BASE + UNIT;
/// Whether it is rotated like the one above, if that and the one to the left are not alike.
const LIKE_ABOVE: usize = LIKE_LEFT + 5;
/// Whether its rotation is a new one, by how many there are.
const NEW_ROTATION: usize = LIKE_ABOVE + 3;
/// Bits of a rotation's number, by node of their tree.
const ROTATION: usize = NEW_ROTATION + MOST - 1;
/// Bits of an angle, by axis and node of their tree.
const ANGLE: usize = ROTATION + (MOST - 1);
const ANGLE_NODES: usize = (1 << ANGLE_BITS) - 1;
/// Number of adaptive probabilities of a stripe.
pub(crate) const CONTEXTS: usize = ANGLE + 3 * ANGLE_NODES;

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

/// The numbers of the rotations to the left, above, and between.
pub(crate) const fn like_left(left: usize, above: usize, between: usize) -> usize {
    LIKE_LEFT + if left == above { 3 + (between == left) as usize } else { odd(left, above, between) }
}

/// The same, if the first two are not alike.
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

/// `count`: rotations so far, 1 to 7.
pub(crate) const fn new_rotation(count: usize) -> usize {
    NEW_ROTATION + count - 1
}

/// `node`: 1 to 7.
pub(crate) const fn rotation(node: usize) -> usize {
    ROTATION + node - 1
}

/// `node`: 1 to 63.
pub(crate) const fn angle(axis: usize, node: usize) -> usize {
    ANGLE + axis * ANGLE_NODES + node - 1
}

/// Statistics that units share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    significance: usize,
    /// Cases of what else is known at a coefficient's place.
    kin: usize,
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
        let before = chroma * (CLASSES / 2);
        Self {
            significance: SIGNIFICANCE * (before * KIN[0] + (class - before) * KIN[chroma]),
            kin: KIN[chroma],
            quiet: QUIET_BASE + class * 14,
            refinement: REFINEMENT_BASE + class * 2 * REFINEMENT_BINS,
            sign: SIGN_BASE + chroma * 3 * SIGN[0] + band * SIGN[chroma],
            block: BLOCK_BASE + chroma * BLOCK[0],
            unit: UNIT_BASE + unit.component * 7 + row,
        }
    }

    /// `kin`: 0 to 2, of other bands; in chroma three times that, and 0 to 2 of luma.
    #[inline]
    pub(crate) fn significance(self, expected: u16, sought: bool, kin: usize) -> usize {
        self.significance + (bin(expected) * 2 + sought as usize) * self.kin + kin
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

    /// Whether a negative sign is coded as a zero, and the context. `side` and `above` are sums of two signs; `luma` is
    /// luma's sign and the one that it suggests here, each -1, 0 or 1; there is none in luma itself.
    #[inline]
    pub(crate) fn sign(self, side: i8, above: i8, luma: Option<(i8, i8)>) -> (bool, usize) {
        let own = side.signum() * 3 + above.signum();
        let all = luma.map_or(own, |(sign, suggested)| own * 9 + sign * 3 + suggested);
        (all < 0, self.sign + usize::from(all.unsigned_abs()))
    }

    /// Numbers of significant coefficients, or near or active ones, in and around a block.
    #[inline]
    pub(crate) fn block(self, near: u32, active: usize, parent: u32, others: u32, luma: Option<u32>) -> usize {
        let near = near.div_ceil(2).min(2) as usize;
        let third = |count: u32, many: u32| usize::from(count > 0) + usize::from(count >= many);
        let own = ((near * 4 + active.min(3)) * 3 + third(parent, 3)) * 3 + third(others, 4);
        self.block + luma.map_or(own, |luma| own * 3 + third(luma, 4))
    }

    pub(crate) const fn unit(self) -> usize {
        self.unit
    }
}
