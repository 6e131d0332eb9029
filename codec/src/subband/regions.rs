//! The regions of a slice, and the rotation of their coefficients (spec, "Regions").

use crate::simd::widest;
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::rotation::{MAX_ROTATIONS, Matrix, Rotation, transposed};

/// Side of a region in pixels.
pub(crate) const REGION_SIDE: usize = 32;
/// The coarsest level at which a region has its own coefficients: one.
const COARSEST_LEVEL: usize = 5;

/// Returns whether the subband's coefficients are rotated; those of the low bands, which have the last level, are not.
pub(crate) const fn rotates(subband: Subband) -> bool {
    subband.level <= COARSEST_LEVEL
}

/// Returns the regions across and down a slice of `width` x `rows` pixels: none, unless chroma has the size of luma.
pub(crate) fn count(chroma: ChromaFormat, width: usize, rows: usize) -> (usize, usize) {
    match chroma {
        ChromaFormat::None | ChromaFormat::Half => (0, 0),
        ChromaFormat::Full => (width.div_ceil(REGION_SIDE), rows.div_ceil(REGION_SIDE)),
    }
}

/// Rotates a subband's row `y` by each region's matrix: takes the row of all components and returns that of the
/// subband's own component. A row has `across` regions.
pub(crate) fn rotate(
    matrices: &[Matrix],
    across: usize,
    subband: Subband,
    y: usize,
    from: [&[f32]; 3],
    out: &mut [f32],
) {
    let side = REGION_SIDE >> subband.level;
    let own = &matrices[y / side * across..];
    let [luma, u, v] = from.map(|row| row.chunks(side));
    for ((((out, luma), u), v), matrix) in out.chunks_mut(side).zip(luma).zip(u).zip(v).zip(own) {
        let [a, b, c] = matrix[subband.component];
        for (((out, luma), u), v) in out.iter_mut().zip(luma).zip(u).zip(v) {
            *out = a * luma + b * u + c * v;
        }
    }
}

/// The known rotations of a slice's regions.
pub(crate) struct Rotations<'a> {
    /// Regions in a row.
    pub(crate) across: usize,
    /// At most [`MAX_ROTATIONS`], by number.
    pub(crate) rotations: &'a [Rotation],
    /// The number of each region's rotation, row by row.
    pub(crate) numbers: &'a [Option<u8>],
}

impl Rotations<'_> {
    /// Undoes the rotations in a slice's rows of all subbands; `width` is the width of a subband by its index.
    pub(crate) fn undo(&self, width: impl Fn(usize) -> usize, subbands: &mut [&mut [f32]; SUBBAND_COUNT]) {
        if self.all_default() {
            return;
        }
        let matrices: [Matrix; MAX_ROTATIONS] =
            std::array::from_fn(|number| transposed(&self.rotations.get(number).copied().unwrap_or_default().matrix()));
        for index in 3..SUBBAND_COUNT {
            let subband = Subband::at(index);
            if subband.component > 0 || !rotates(subband) {
                continue;
            }
            let side = REGION_SIDE >> subband.level;
            let width = width(index).max(1);
            let Ok(bands) = subbands.get_disjoint_mut([0, 1, 2].map(|other| layout::sibling(index, other))) else {
                continue;
            };
            let [luma, u, v] = bands.map(|band| band.chunks_mut(width));
            for (y, ((luma, u), v)) in luma.zip(u).zip(v).enumerate() {
                self.undo_row(&matrices, side, y / side, [luma, u, v]);
            }
        }
    }

    /// Undoes the rotations in one row of the three components, which passes through row `down` of the regions.
    fn undo_row(&self, matrices: &[Matrix; MAX_ROTATIONS], side: usize, down: usize, [luma, u, v]: [&mut [f32]; 3]) {
        let parts = luma.chunks_mut(side).zip(u.chunks_mut(side)).zip(v.chunks_mut(side));
        for (((luma, u), v), number) in parts.zip(&self.numbers[down * self.across..]) {
            let Some(number @ 1..) = *number else { continue };
            widest!(turn(&matrices[usize::from(number)], [luma, u, v]));
        }
    }

    /// Returns whether no region is known to have a rotation other than the identity.
    fn all_default(&self) -> bool {
        let mut numbers = self.numbers.iter().flatten();
        numbers.all(|&number| self.rotations[usize::from(number)] == Rotation::default())
    }
}

/// Rotates coefficients of the three components. Memory that was never written to stays untouched.
#[inline(always)]
fn turn([to_luma, to_u, to_v]: &Matrix, [luma, u, v]: [&mut [f32]; 3]) {
    let any = |band: &[f32]| band.iter().fold(0, |any, value| any | value.to_bits() << 1) != 0;
    if !any(luma) && !any(u) && !any(v) {
        return;
    }
    for ((luma, u), v) in luma.iter_mut().zip(u).zip(v) {
        let from = [*luma, *u, *v];
        (*luma, *u, *v) = (dot(*to_luma, from), dot(*to_u, from), dot(*to_v, from));
    }
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
