//! How many bytes of each frame make the floor and the loop.

use crate::video::population::{FrameRate, Population};

/// Bytes of a frame if nobody is known to receive.
const NOBODY: usize = 1 << 20;
/// The loop is good enough when what the prediction lacks is this many times what the loop lacks: where frames bring much
/// that is new, bytes of the loop are soon worth nothing; where they bring little, those bytes serve many frames. Found on
/// the training clips.
const INNOVATION: u64 = 6;
/// Share of the loop's bytes by which they change from frame to frame.
const STEP: usize = 16;

/// Bytes of one frame, head and side information included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// All that the slowest receiver gets.
    pub(super) floor: usize,
    /// What the loop is made of.
    pub(super) closed: usize,
    /// The most that anybody gets.
    pub(super) most: usize,
}

/// Follows the population and the video.
#[derive(Debug, Default)]
pub(super) struct Allotment {
    /// Bytes of the loop, before they are held to what receivers get.
    closed: Option<usize>,
}

impl Allotment {
    /// The next frame's.
    pub(super) fn shares(&mut self, population: &Population, rate: FrameRate) -> Shares {
        let bytes = |receiver: Option<f64>| receiver.map_or(NOBODY, |receiver| rate.bytes(receiver));
        let (floor, most) = (bytes(population.slowest()), bytes(population.fastest()));
        let closed = self.closed.unwrap_or_else(|| bytes(population.median())).clamp(floor, most);
        self.closed = Some(closed);
        Shares { floor, closed, most }
    }

    /// Learns from a frame: squared errors of its prediction and of the loop.
    pub(super) fn learn(&mut self, predicted: u64, closed: u64) {
        let worth = predicted < INNOVATION.saturating_mul(closed);
        self.closed = self.closed.map(|bytes| {
            let step = bytes.div_ceil(STEP);
            if worth { bytes + step } else { bytes - step }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_follows_what_is_new_between_the_slowest_and_the_fastest() {
        let population = Population::log_uniform(8_000.0, 128_000.0);
        let rate = FrameRate { frames: 10, seconds: 1 };
        let mut allotment = Allotment::default();
        assert_eq!(allotment.shares(&population, rate), Shares { floor: 100, closed: 400, most: 1600 });
        for (predicted, last) in [(1000, 100), (300, 1600)] {
            for _ in 0..200 {
                allotment.learn(predicted, 100);
                allotment.shares(&population, rate);
            }
            assert_eq!(allotment.shares(&population, rate).closed, last);
        }
        allotment.learn(u64::MAX, 0);
        allotment.learn(0, u64::MAX);
    }
}
