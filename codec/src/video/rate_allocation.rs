//! Rate allocation: how many bytes of each frame make the base layer and the enhancement reference.
//!
//! The enhancement reference always has the bytes of one receiver of the population. A receiver with exactly these
//! bytes is served best, as if by its own prediction loop. With a few bytes less it loses about a decibel, and a size
//! between two receivers helps neither. The video selects the receiver, through the errors that the encoder measures.

use nestcast_units::FrameRate;

use crate::video::population::{Population, frame_bytes};

/// The bytes of a frame if there are no known receivers.
const NO_RECEIVER_BYTES: usize = 1 << 20;
/// The enhancement reference should have more bytes while its prediction's error is less than this many times its own:
/// then frames bring little new, and its bytes serve many of them. Found on the training clips, as are those below.
const RAISE_BELOW_RATIO: f64 = 3.0;
/// It should have fewer bytes where the prediction's error exceeds its own by more than this factor: its bytes soon
/// lose their use.
const LOWER_ABOVE_RATIO: f64 = 11.0;
/// Consecutive frames that must agree before the bytes change.
const AGREEING_FRAMES: i8 = 3;

/// Bytes of one frame, including head and side information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// All bytes that the slowest receiver gets.
    pub(super) base_reference: usize,
    /// The bytes of the enhancement reference.
    pub(super) enhancement_reference: usize,
    /// The most bytes that any receiver gets.
    pub(super) most: usize,
}

/// The squared errors of one frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errors {
    /// The error of the enhancement reference's prediction.
    pub(super) predicted: u64,
    pub(super) enhancement_reference: u64,
    pub(super) base_reference: u64,
}

/// Adapts to the population and the video.
#[derive(Debug, Default)]
pub(super) struct RateAllocation {
    /// The shares of the last frame.
    shares: Option<Shares>,
    /// Consecutive frames that asked for more bytes of the enhancement reference; negative for fewer.
    leaning: i8,
}

impl RateAllocation {
    /// Returns the shares of the next frame.
    pub(super) fn shares(&mut self, population: &Population, rate: FrameRate) -> Shares {
        let bytes = |receiver: Option<f64>| receiver.map_or(NO_RECEIVER_BYTES, |receiver| frame_bytes(rate, receiver));
        let base_reference = bytes(population.slowest_bits());
        let most = bytes(population.fastest_bits());
        let median = bytes(population.median_bits());
        let receivers = || population.rates().map(|receiver| frame_bytes(rate, receiver));
        let before =
            self.shares.map_or(median, |shares| nearest(receivers(), shares.enhancement_reference).unwrap_or(median));
        let next = if self.leaning >= AGREEING_FRAMES {
            receivers().find(|bytes| *bytes >= before.saturating_add(before / 2)).unwrap_or(most)
        } else if self.leaning <= -AGREEING_FRAMES {
            receivers().take_while(|bytes| *bytes <= before - before / 3).last().unwrap_or(base_reference)
        } else {
            before
        };
        if next != before {
            self.leaning = 0;
        }
        let shares = Shares { base_reference, enhancement_reference: next, most };
        self.shares = Some(shares);
        shares
    }

    /// Adapts to the errors of a frame.
    pub(super) fn learn(&mut self, errors: Errors) {
        let Some(shares) = self.shares else { return };
        let [predicted, enhancement_reference, base_reference] =
            [errors.predicted, errors.enhancement_reference, errors.base_reference].map(|error| error as f64);
        let spread = shares.enhancement_reference as f64 / shares.base_reference.max(1) as f64;
        // Whether the base layer's error is at least this many times the enhancement reference's.
        let falls = |by: f64| base_reference >= by * enhancement_reference;
        let more = predicted < RAISE_BELOW_RATIO * enhancement_reference && falls(spread);
        let fewer = predicted > LOWER_ABOVE_RATIO * enhancement_reference || !falls(spread.sqrt());
        self.leaning = match (more, fewer) {
            (true, _) => self.leaning.max(0).saturating_add(1),
            (_, true) => self.leaning.min(0).saturating_sub(1),
            _ => 0,
        };
    }
}

/// Returns the bytes of the receiver that are nearest to `bytes`, by ratio.
fn nearest(receivers: impl Iterator<Item = usize>, bytes: usize) -> Option<usize> {
    let apart = |receiver: usize| receiver.max(bytes) as f64 / receiver.min(bytes).max(1) as f64;
    receivers.min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    use nestcast_units::Bitrate;

    const RATE: FrameRate = match FrameRate::new(10, 1) {
        Ok(rate) => rate,
        Err(_) => panic!("a rate"),
    };

    fn log_uniform(least: u64, most: u64) -> Population {
        Population::log_uniform(Bitrate::from_bits(least)..=Bitrate::from_bits(most))
    }

    /// Returns the bytes of the enhancement reference after frames with these errors.
    fn enhancement_reference(errors: Errors, frames: usize) -> usize {
        let population = log_uniform(8_000, 128_000);
        let mut rate_allocation = RateAllocation::default();
        assert_eq!(
            rate_allocation.shares(&population, RATE),
            Shares { base_reference: 100, enhancement_reference: 400, most: 1600 }
        );
        for _ in 0..frames {
            rate_allocation.learn(errors);
            rate_allocation.shares(&population, RATE);
        }
        rate_allocation.shares(&population, RATE).enhancement_reference
    }

    #[test]
    fn its_bytes_follow_what_is_new_from_receiver_to_receiver() {
        let old = Errors { predicted: 250, enhancement_reference: 100, base_reference: 2000 };
        assert_eq!([2, 3, 5, 6, 90].map(|frames| enhancement_reference(old, frames)), [400, 800, 800, 1600, 1600]);
        let new = Errors { predicted: 1200, ..old };
        assert_eq!([2, 3, 6, 90].map(|frames| enhancement_reference(new, frames)), [400, 200, 100, 100]);
        let between = Errors { predicted: 800, ..old };
        assert_eq!(enhancement_reference(between, 90), 400);
    }

    #[test]
    fn bytes_that_bring_little_do_not_enhance() {
        let noise = Errors { predicted: 150, enhancement_reference: 100, base_reference: 180 };
        assert_eq!(enhancement_reference(noise, 90), 200);
        assert_eq!(enhancement_reference(Errors { base_reference: 140, ..noise }, 90), 100);
    }

    #[test]
    fn any_errors_and_populations_are_taken() {
        for population in [
            Population::new([]),
            Population::new([(Bitrate::from_bits(1), 1.0)]),
            Population::new([(Bitrate::from_bits(u64::MAX), 1.0)]),
            log_uniform(1, 1_000_000_000_000),
            log_uniform(1, u64::MAX),
        ] {
            let mut rate_allocation = RateAllocation::default();
            for at in 0..40 {
                let any = |shift: u32| if at >> shift & 1 == 0 { 0 } else { u64::MAX };
                rate_allocation.learn(Errors {
                    predicted: any(0),
                    enhancement_reference: any(1),
                    base_reference: any(2),
                });
                let Shares { base_reference, enhancement_reference, most } = rate_allocation.shares(&population, RATE);
                assert!(base_reference <= enhancement_reference && enhancement_reference <= most);
            }
        }
    }
}
