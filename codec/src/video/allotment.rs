//! How many bytes of each frame make the floor and the enhanced picture.
//!
//! The enhanced picture is always made of the bytes of one receiver of the population: who has exactly these is served best, as
//! by a prediction loop of its own; with a few bytes less a receiver loses about a decibel, and between two receivers nobody wins. Which
//! one follows from the video, by what errors the encoder has at hand.

use crate::video::population::{FrameRate, Population};

/// Bytes of a frame if nobody is known to receive.
const NOBODY: usize = 1 << 20;
/// The enhanced picture should have more bytes while its prediction lacks less than this many times what it lacks itself: then
/// frames bring little that is new, and its bytes serve many of them. Found on the training clips, as are those below.
const OLD: f64 = 3.5;
/// It should have fewer where the prediction lacks more than this many times as much: its bytes are soon worth
/// nothing.
const NEW: f64 = 11.0;
/// Frames in a row that must agree before its bytes change.
const AGREEING: i8 = 3;

/// Bytes of one frame, head and side information included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// All that the slowest receiver gets.
    pub(super) floor: usize,
    /// What the enhanced picture is made of.
    pub(super) enhanced: usize,
    /// The most that anybody gets.
    pub(super) most: usize,
}

/// Squared errors of one frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errors {
    /// Of the enhanced picture's prediction.
    pub(super) predicted: u64,
    pub(super) enhanced: u64,
    pub(super) floor: u64,
}

/// Follows the population and the video.
#[derive(Debug, Default)]
pub(super) struct Allotment {
    /// The last frame's.
    shares: Option<Shares>,
    /// Frames in a row that asked for more bytes of the enhanced picture; below zero for fewer.
    leaning: i8,
}

impl Allotment {
    /// The next frame's.
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

    /// Learns from a frame.
    pub(super) fn learn(&mut self, errors: Errors) {
        let Some(shares) = self.shares else { return };
        let [predicted, enhanced, floor] = [errors.predicted, errors.enhanced, errors.floor].map(|error| error as f64);
        let spread = shares.enhanced as f64 / shares.floor.max(1) as f64;
        // What the enhanced picture lacks, times how often its bytes are the floor's, to the power of 7/8 and of 1/2.
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

/// The bytes of the receiver that are nearest to these, by their ratio.
fn nearest(receivers: impl Iterator<Item = usize>, bytes: usize) -> Option<usize> {
    let apart = |receiver: usize| receiver.max(bytes) as f64 / receiver.min(bytes).max(1) as f64;
    receivers.min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: FrameRate = FrameRate { frames: 10, seconds: 1 };

    /// Bytes of the enhanced picture after frames of such errors.
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
