//! Leaves a coefficient to the next bit plane if no other of its code block reaches its highest one, and it hardly does.
//!
//! A code block's first coefficient costs most: that the code block is non-zero, where the coefficient lies, its sign.
//! If it is small, these bits lower the error by less than others do that a receiver gets in their place.
//!
//! Prior art: rate-distortion optimised quantisation (Karczewicz, Ye and Chong, "Rate distortion optimized
//! quantization", ITU-T VCEG-AH21, 2008). Here the cost of a coefficient is that of being first.

use crate::bitplane::code_block::CODE_BLOCK_COEFFICIENTS;
use crate::bitplane::slice::Grid;
use crate::subband::quantise::SIGN_BIT;

/// A magnitude shifted so that three bits are left, if it is less than 5/4 of its highest bit.
const BELOW_FIVE_QUARTERS: u16 = 0b100;
/// The bits that this leaves below the highest. Magnitudes of fewer bits stay as they are.
const QUARTER_BITS: u32 = 2;

/// Lowers the isolated coefficients of a subband whose highest bit is in a plane below `end`. `all` has the magnitudes of
/// each code block, or-ed, and stays right. Returns those of the whole subband, or-ed.
pub(super) fn lower_isolated(
    levels: &mut [[u16; CODE_BLOCK_COEFFICIENTS]],
    all: &mut [u16],
    grid: &Grid,
    end: u8,
) -> u16 {
    let mut of_subband = 0;
    for row in (0..grid.down).map(|by| grid.at(0, by)..grid.at(grid.across, by)) {
        for (levels, all) in levels[row.clone()].iter_mut().zip(&mut all[row]) {
            *all = lower(levels, *all, end);
            of_subband |= *all;
        }
    }
    of_subband
}

/// Lowers the only coefficient of a code block with the highest bit of `all`, to the largest magnitude below that bit,
/// if it is less than 5/4 of it. Returns all magnitudes or-ed, which were `all` before.
fn lower(levels: &mut [u16; CODE_BLOCK_COEFFICIENTS], all: u16, end: u8) -> u16 {
    let planes = QUARTER_BITS..end.into();
    let Some(plane) = all.checked_ilog2().filter(|plane| planes.contains(plane)) else { return all };
    let highest = 1_u16 << plane;
    if levels.iter().map(|level| level >> plane & 1).sum::<u16>() != 1 {
        return all;
    }
    let is_small = |level: &&mut u16| (**level & !SIGN_BIT) >> (plane - QUARTER_BITS) == BELOW_FIVE_QUARTERS;
    let Some(level) = levels.iter_mut().find(is_small) else { return all };
    *level = *level & SIGN_BIT | (highest - 1);
    highest - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the levels of a code block, with these at its end, after they were lowered in planes below `end`.
    fn lowered(last: &[u16], end: u8) -> Vec<u16> {
        let mut levels = [0; CODE_BLOCK_COEFFICIENTS];
        let first = CODE_BLOCK_COEFFICIENTS - last.len();
        levels[first..].copy_from_slice(last);
        let or = |levels: &[u16]| levels.iter().fold(0, |or, level| or | level) & !SIGN_BIT;
        let all = lower(&mut levels, or(last), end);
        assert_eq!(all, or(&levels), "{last:?}");
        assert!(levels[..first].iter().all(|level| *level == 0), "{last:?}");
        levels[first..].to_vec()
    }

    #[test]
    fn a_small_coefficient_alone_in_its_highest_plane_goes_to_the_next() {
        for sign in [0, SIGN_BIT] {
            assert_eq!(lowered(&[sign | 64], 7), [sign | 63]);
            assert_eq!(lowered(&[31, sign | 79, SIGN_BIT | 63], 17), [31, sign | 63, SIGN_BIT | 63]);
            assert_eq!(lowered(&[sign | 4], 3), [sign | 3]);
            assert_eq!(lowered(&[sign | 0x4FFF], 15), [sign | 0x3FFF]);
        }
    }

    #[test]
    fn others_stay() {
        for levels in [
            &[0][..],
            &[1],
            &[SIGN_BIT | 3],
            &[5],
            &[80, 3],
            &[0x5000],
            &[0x7FFF],
            // Not alone.
            &[64, SIGN_BIT | 64],
            &[65, 1, 127],
        ] {
            assert_eq!(lowered(levels, 17), levels);
        }
        for end in 0..7 {
            assert_eq!(lowered(&[64], end), [64], "before plane {end}");
        }
    }
}
