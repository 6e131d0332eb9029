//! Rate allocation: how many bytes of each frame make the base layer and the enhancement reference.
//!
//! The enhancement reference always has the bytes of one receiver of the population. A receiver with exactly these
//! bytes is served best, as if by its own prediction loop. With a few bytes less it loses about a decibel, and a size
//! between two receivers helps neither. The video selects the receiver, through the errors that the encoder measures.

use crate::video::population::{FrameRate, Population};

/// The bytes of a frame if there are no known receivers.
const NOBODY: usize = 1 << 20;
/// The enhancement reference should have more bytes while its prediction's error is less than this many times its own:
/// then frames bring little new, and its bytes serve many of them. Found on the training clips, as are those below.
const OLD: f64 = 3.5;
/// It should have fewer bytes where the prediction's error exceeds its own by more than this factor: its bytes soon
/// lose their use.
const NEW: f64 = 11.0;
/// Consecutive frames that must agree before the bytes change.
const AGREEING: i8 = 3;

/// Bytes of one frame, including head and side information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// All bytes that the slowest receiver gets.
    pub(super) floor: usize,
    /// The bytes of the enhancement reference.
    pub(super) enhanced: usize,
    /// The most bytes that any receiver gets.
    pub(super) most: usize,
}

/// The squared errors of one frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errors {
    /// The error of the enhancement reference's prediction.
    pub(super) predicted: u64,
    pub(super) enhanced: u64,
    pub(super) floor: u64,
}

/// Adapts to the population and the video.
#[derive(Debug, Default)]
pub(super) struct Allotment {
    /// The shares of the last frame.
    shares: Option<Shares>,
    /// Consecutive frames that asked for more bytes of the enhancement reference; negative for fewer.
    leaning: i8,
}

impl Allotment {
    /// Returns the shares of the next frame.
    pub(super) fn shares(&mut self, population: &Population, rate: FrameRate) -> Shares {
        let bytes = |receiver: Option<f64>| receiver.map_or(NOBODY, |receiver| rate.bytes(receiver));
        let floor = bytes(population.slowest());
        let most = bytes(population.fastest());
        let median = bytes(population.median());
        let receivers = || population.rates().map(|receiver| rate.bytes(receiver));
        let before = self.shares.map_or(median, |shares| nearest(receivers(), shares.enhanced).unwrap_or(median));
        let next = if self.leaning >= AGREEING {
            receivers().find(|bytes| *bytes >= before.saturating_add(before / 2)).unwrap_or(most)
        } else if self.leaning <= -AGREEING {
            receivers().take_while(|bytes| *bytes <= before - before / 3).last().unwrap_or(floor)
        } else {
            before
        };
        if next != before {
            self.leaning = 0;
        }
        let shares = Shares { floor, enhanced: next, most };
        self.shares = Some(shares);
        shares
    }

    /// Adapts to the errors of a frame.
    pub(super) fn learn(&mut self, errors: Errors) {
        let Some(shares) = self.shares else { return };
        let [predicted, enhanced, floor] = [errors.predicted, errors.enhanced, errors.floor].map(|error| error as f64);
        let spread = shares.enhanced as f64 / shares.floor.max(1) as f64;
        // The error of the enhancement reference, times the ratio of its bytes to the base layer's, to the power of 7/8
        // and of 1/2.
        let [half, quarter, eighth] = [spread.sqrt(), spread.sqrt().sqrt(), spread.sqrt().sqrt().sqrt()];
        let falls = |by: f64| floor >= by * enhanced;
        let more = predicted < OLD * enhanced && falls(half * quarter * eighth);
        let fewer = predicted > NEW * enhanced || !falls(half);
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

    const RATE: FrameRate = FrameRate { frames: 10, seconds: 1 };

    /// Returns the bytes of the enhancement reference after frames with these errors.
    fn enhanced(errors: Errors, frames: usize) -> usize {
        let population = Population::log_uniform(8_000.0..=128_000.0);
        let mut allotment = Allotment::default();
        assert_eq!(allotment.shares(&population, RATE), Shares { floor: 100, enhanced: 400, most: 1600 });
        for _ in 0..frames {
            allotment.learn(errors);
            allotment.shares(&population, RATE);
        }
        allotment.shares(&population, RATE).enhanced
    }

    #[test]
    fn its_bytes_follow_what_is_new_from_receiver_to_receiver() {
        let old = Errors { predicted: 300, enhanced: 100, floor: 2000 };
        assert_eq!([2, 3, 5, 6, 90].map(|frames| enhanced(old, frames)), [400, 800, 800, 1600, 1600]);
        let new = Errors { predicted: 1200, ..old };
        assert_eq!([2, 3, 6, 90].map(|frames| enhanced(new, frames)), [400, 200, 100, 100]);
        let between = Errors { predicted: 800, ..old };
        assert_eq!(enhanced(between, 90), 400);
    }

    #[test]
    fn bytes_that_bring_little_do_not_enhance() {
        let noise = Errors { predicted: 150, enhanced: 100, floor: 180 };
        assert_eq!(enhanced(noise, 90), 200);
        assert_eq!(enhanced(Errors { floor: 140, ..noise }, 90), 100);
    }

    #[test]
    fn any_errors_and_populations_are_taken() {
        for population in [
            Population::new([]),
            Population::new([(1.0, 1.0)]),
            Population::new([(1e300, 1.0)]),
            Population::log_uniform(1.0..=1e12),
            Population::log_uniform(1.0..=1e300),
        ] {
            let mut allotment = Allotment::default();
            for at in 0..40 {
                let any = |shift: u32| if at >> shift & 1 == 0 { 0 } else { u64::MAX };
                allotment.learn(Errors { predicted: any(0), enhanced: any(1), floor: any(2) });
                let Shares { floor, enhanced, most } = allotment.shares(&population, RATE);
                assert!(floor <= enhanced && enhanced <= most);
            }
        }
    }
}
