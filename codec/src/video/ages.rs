//! Temporal-decay weighting of residuals: by how long their effect will last (spec, "Base-layer and enhancement references").
//!
//! A correction of a block that was just refreshed serves the seven frames that are predicted from it. A correction of
//! a block that is about to be refreshed serves none. So the encoder enlarges the residual of the first and reduces
//! that of the second. The bitstream is coded without regard to age, and so spends more of its first bytes on what
//! lasts.

use crate::motion::field::{BLOCK, Field, PARTITION_SIDE, REFRESH_CYCLE_FRAMES};
use crate::parallel::{self, Threads};
use crate::residual::planes::Planes420;
use crate::simd::widest;

/// The decoder's gains, in 1/256, by the frames since a block was refreshed: 2^(0.7 (age / 7 - 1/2)).
const AGE_GAINS: [i32; REFRESH_CYCLE_FRAMES] = [201, 215, 231, 247, 265, 284, 304, 326];

/// Weights a frame's residual for its bitstream.
pub(super) fn weigh(residual: &mut Planes420<i16>, phase: u8, threads: &Threads) {
    let mut inverse = AGE_GAINS;
    // This is almost the inverse: opposite ages have gains whose product is about 1.
    inverse.reverse();
    multiply(residual, phase, inverse, threads);
}

/// Undoes the weights in the residual from a frame's bitstream.
pub(super) fn weigh_back(residual: &mut Planes420<i16>, phase: u8, threads: &Threads) {
    multiply(residual, phase, AGE_GAINS, threads);
}

/// Multiplies the samples of every block by the gain of its age.
fn multiply(residual: &mut Planes420<i16>, phase: u8, by_age: [i32; REFRESH_CYCLE_FRAMES], threads: &Threads) {
    let size = residual.size();
    let [across, down] = Field::grid(size);
    let widths = [size.width(), size.halved().width(), size.halved().width()];
    let planes = residual.planes_mut().into_iter().zip(widths).zip([BLOCK, PARTITION_SIDE, PARTITION_SIDE]);
    parallel::for_each(threads, planes, |((plane, width), side)| {
        for (age, gain) in by_age.into_iter().enumerate() {
            let blocks = Field::refreshed(across * down, usize::from(phase) + REFRESH_CYCLE_FRAMES - age);
            for row in blocks.start / across..blocks.end.div_ceil(across) {
                let first = row * across;
                let columns = blocks.start.max(first) - first..blocks.end.min(first + across) - first;
                let left = columns.start * side;
                let right = (columns.end * side).min(width);
                for samples in plane.chunks_exact_mut(width).skip(row * side).take(side) {
                    widest!(scale(&mut samples[left..right], gain));
                }
            }
        }
    });
}

/// Scales residuals of 13 bits by a gain of less than 2.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "14 bits")]
fn scale(samples: &mut [i16], gain: i32) {
    samples.iter_mut().for_each(|sample| *sample = ((i32::from(*sample) * gain + 128) >> 8) as i16);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;

    #[test]
    fn every_sample_has_the_gain_of_its_block() {
        for (width, height) in [(1, 1), (50, 37), (100, 64), (640, 20)] {
            let size = Size::new(width, height).expect("a valid size");
            let [across, down] = Field::grid(size);
            for phase in [0, 3, 127] {
                let mut residual = Planes420::new(size);
                residual.planes_mut().into_iter().for_each(|plane| plane.fill(-4096));
                weigh_back(&mut residual, phase, &Threads::new(2));
                let count = across * down;
                let gain = |block: usize| {
                    let age = (0..8).find(|age| Field::refreshed(count, usize::from(phase) + 8 - age).contains(&block));
                    AGE_GAINS[age.expect("one of eight")]
                };
                for (plane, (width, side)) in residual.planes().iter().zip([
                    (size.width(), 16),
                    (size.halved().width(), 8),
                    (size.halved().width(), 8),
                ]) {
                    for (at, sample) in plane.iter().enumerate() {
                        let block = at / width / side * across + at % width / side;
                        assert_eq!(
                            i32::from(*sample),
                            -16 * gain(block),
                            "{width}x{height}, phase {phase}, sample {at}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_weighed_and_weighed_back_is_nearly_what_it_was() {
        let size = Size::new(64, 128).expect("a valid size");
        let mut residual = Planes420::new(size);
        let before: Vec<i16> = (-2040..).take(64 * 128).map(|value| value % 2041).collect();
        residual.planes_mut()[0].copy_from_slice(&before);
        weigh(&mut residual, 5, &Threads::new(1));
        weigh_back(&mut residual, 5, &Threads::new(1));
        let most = before.iter().zip(&residual.planes()[0]).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(most.is_some_and(|most| (1..=7).contains(&most)), "{most:?}");
    }
}
