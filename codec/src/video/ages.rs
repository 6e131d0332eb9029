//! Temporal-decay weighting of residuals: by how long their effect will last (spec, "Base-layer and enhancement
//! references").
//!
//! A correction of a block that was just refreshed serves the seven frames that are predicted from it. A correction of
//! a block that is about to be refreshed serves none. So the encoder enlarges the residual of the first and reduces
//! that of the second. The bitstream is coded without regard to age, and so spends more of its first bytes on what
//! lasts.

use std::ops::Range;

use crate::motion::field::{Field, REFRESH_CYCLE_FRAMES, columns};
use crate::picture::Size;
use crate::video::head::Head;

/// The decoder's gains, in 1/256, by the frames since a block was refreshed: 2^(0.7 (age / 7 - 1/2)).
const AGE_GAINS: [i16; REFRESH_CYCLE_FRAMES] = [201, 215, 231, 247, 265, 284, 304, 326];

/// The gains of a frame's blocks.
#[derive(Debug, Clone)]
pub(super) struct Gains {
    across: usize,
    /// The blocks of the same age, in order, each with its gain.
    ages: [(Range<usize>, Gain); REFRESH_CYCLE_FRAMES],
}

impl Gains {
    /// Returns the gains that weight a frame's residual for its bitstream.
    pub(super) fn weigh(size: Size, phase: u8) -> Self {
        let mut inverse = AGE_GAINS;
        // This is almost the inverse: opposite ages have gains whose product is about 1.
        inverse.reverse();
        Self::new(size, phase, inverse)
    }

    /// Returns the gains that undo the weights in the residual from a frame's bitstream.
    fn weigh_back(size: Size, phase: u8) -> Self {
        Self::new(size, phase, AGE_GAINS)
    }

    /// Returns the gains of the residual that a frame adds to the enhancement reference; `None` if it is added as it
    /// is.
    pub(super) fn of_enhancement_reference(size: Size, head: &Head) -> Option<Self> {
        head.is_weighted().then(|| Self::weigh_back(size, head.phase))
    }

    /// Returns the gains of the residual that a frame adds to the base-layer reference. If the picture stays, the
    /// residual of all blocks but the refreshed ones is what the enhancement reference lacks, so it is not added.
    pub(super) fn of_base_reference(size: Size, head: &Head) -> Option<Self> {
        const REFRESHED_ALONE: [i16; REFRESH_CYCLE_FRAMES] = [256, 0, 0, 0, 0, 0, 0, 0];
        if head.stays {
            return Some(Self::new(size, head.phase, REFRESHED_ALONE));
        }
        Self::of_enhancement_reference(size, head)
    }

    fn new(size: Size, phase: u8, by_age: [i16; REFRESH_CYCLE_FRAMES]) -> Self {
        let [across, down] = Field::grid(size);
        let mut ages = std::array::from_fn(|age| {
            let blocks = Field::refreshed(across * down, usize::from(phase) + REFRESH_CYCLE_FRAMES - age);
            (blocks, Gain::new(by_age[age]))
        });
        ages.sort_unstable_by_key(|(blocks, _)| blocks.start);
        Self { across, ages }
    }

    /// Returns the parts of row `y` of a plane that have one gain, from left to right.
    pub(super) fn parts(&self, plane: usize, y: usize, width: usize) -> impl Iterator<Item = (Range<usize>, Gain)> {
        let in_row =
            move |(blocks, gain): &(Range<usize>, Gain)| (columns(blocks, self.across, plane, y, width), *gain);
        self.ages.iter().map(in_row).filter(|(columns, _)| !columns.is_empty())
    }
}

/// A residual's gain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gain {
    /// In 1/256.
    gain: i16,
    /// All bits, or none if the gain is 0.
    mask: i16,
}

impl Gain {
    /// Leaves residuals as they are.
    pub(super) const ONE: Self = Self { gain: 256, mask: -1 };

    const fn new(gain: i16) -> Self {
        if gain == 0 { Self { gain: 256, mask: 0 } } else { Self { gain, mask: -1 } }
    }

    /// Returns a residual times the gain, as [`scaled`].
    #[inline(always)]
    pub(super) const fn times(self, residual: i16) -> i16 {
        scaled(residual, self.gain) & self.mask
    }
}

/// Returns a residual times a gain in 1/256, rounded half up: exact for residuals of up to 7000 in either direction and
/// gains of up to 70/256 above or below 1. It needs 16 bits alone, because only the gain's difference from 1 is
/// multiplied, by parts of the residual.
#[inline(always)]
pub(super) const fn scaled(residual: i16, gain: i16) -> i16 {
    let beyond = gain - 256;
    let [high, low] = [residual >> 4, residual & 15];
    residual + ((high * beyond + ((low * beyond + 128) >> 4)) >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies the samples of row `y` of a plane by the gains of their blocks.
    fn scale(gains: &Gains, plane: usize, y: usize, row: &mut [i16]) {
        for (columns, gain) in gains.parts(plane, y, row.len()) {
            row[columns].iter_mut().for_each(|sample| *sample = gain.times(*sample));
        }
    }

    /// Returns rows of a plane of one value, with these gains.
    fn plane_of(gains: &Gains, plane: usize, [width, height]: [usize; 2], value: i16) -> Vec<Vec<i16>> {
        let row = |y: usize| {
            let mut row = vec![value; width];
            scale(gains, plane, y, &mut row);
            row
        };
        (0..height).map(row).collect()
    }

    #[test]
    fn every_sample_has_the_gain_of_its_block() {
        for (width, height) in [(1, 1), (50, 37), (100, 64), (640, 20)] {
            let size = Size::new(width, height).expect("a valid size");
            let [across, down] = Field::grid(size);
            for phase in [0, 3, 127] {
                let gains = Gains::weigh_back(size, phase);
                let count = across * down;
                let gain = |block: usize| {
                    let age = (0..8).find(|age| Field::refreshed(count, usize::from(phase) + 8 - age).contains(&block));
                    AGE_GAINS[age.expect("one of eight")]
                };
                for (plane, side) in [16, 8].into_iter().enumerate() {
                    let size = if plane == 0 { size } else { size.halved() };
                    for (y, row) in plane_of(&gains, plane, [size.width(), size.height()], -4096).iter().enumerate() {
                        for (x, sample) in row.iter().enumerate() {
                            let expected = -16 * i32::from(gain(y / side * across + x / side));
                            assert_eq!(i32::from(*sample), expected, "{size:?}, phase {phase}, sample {x} of row {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sixteen_bits_suffice() {
        for (gain, residual) in AGE_GAINS.into_iter().flat_map(|gain| (-7000..=7000).map(move |of| (gain, of))) {
            let exact = (i32::from(residual) * i32::from(gain) + 128) >> 8;
            assert_eq!(i32::from(scaled(residual, gain)), exact, "{residual} times {gain} / 256");
        }
    }

    #[test]
    fn a_picture_that_stays_adds_residuals_of_any_size_to_refreshed_blocks_alone() {
        let size = Size::new(64, 128).expect("a valid size");
        let [across, down] = Field::grid(size);
        for phase in [0, 7, 126] {
            let head = Head { phase, stays: true, ..Head::default() };
            let gains = Gains::of_base_reference(size, &head).expect("it has gains");
            let refreshed = Field::refreshed(across * down, phase.into());
            // The whole range of a residual.
            for value in -4096..=4095 {
                for y in [0, 40, 127] {
                    let mut row = [value; 64];
                    scale(&gains, 0, y, &mut row);
                    let expected = |x: usize| if refreshed.contains(&(y / 16 * across + x / 16)) { value } else { 0 };
                    assert!((0..64).all(|x| row[x] == expected(x)), "{value}, phase {phase}, row {y}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_weighed_and_weighed_back_is_nearly_what_it_was() {
        let size = Size::new(64, 128).expect("a valid size");
        let (weigh, back) = (Gains::weigh(size, 5), Gains::weigh_back(size, 5));
        let mut most = 0;
        for (y, before) in (-2040..2041).collect::<Vec<i16>>().chunks_exact(64).enumerate() {
            let mut row = before.to_vec();
            scale(&weigh, 0, y, &mut row);
            scale(&back, 0, y, &mut row);
            most = row.iter().zip(before).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0).max(most);
        }
        assert!((1..=7).contains(&most), "{most}");
    }
}
