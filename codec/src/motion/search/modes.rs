//! The choice of each block's prediction: compares the found vectors with those of neighbours, by difference and real
//! bits.

use crate::entropy::range_coder::RangeEncoder;
use crate::motion::field::{BLOCK, Block, CONSTANTS, Field, PARTITION_SIDE, Source};
use crate::motion::reference::BySource;
use crate::motion::search::block::{Blocks, MotionCandidate};
use crate::motion::search::cost::{self, COST_PER_BIT, Cost};
use crate::motion::search::quarters::Quarters;
use crate::motion::side_info::{Neighbours, SideInfo};
use crate::motion::vector::Vector;
use crate::simd::with_instructions;

/// Luma samples of a block.
const BLOCK_PIXELS: u32 = 256;
const _: () = assert!(BLOCK_PIXELS as usize == BLOCK * BLOCK);

/// Chooses for one frame after another.
#[derive(Debug, Default)]
pub(super) struct Modes {
    side_info: SideInfo,
}

impl Modes {
    /// Fills in `field` and returns its bytes, in the memory of `bytes`. `lambda`: steps of difference that a bit is
    /// worth, in 1/16.
    pub(super) fn choose(
        &mut self,
        lambda: u32,
        blocks: &Blocks,
        quarters: &BySource<Quarters>,
        found: &[MotionCandidate],
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> Vec<u8> {
        self.side_info.reset(field);
        let mut coder = RangeEncoder::new();
        coder.restart(bytes);
        for (at, found) in found.iter().enumerate() {
            let near = self.side_info.near(field, at);
            let block = self.best(lambda, blocks, quarters, found, field, &near);
            field.blocks[at] = block;
            // An encoder is never starved.
            let _ = self.side_info.block_near(&mut coder, &near, block);
        }
        coder.finish_before_zeros()
    }

    /// The side information after the last field.
    pub(super) const fn side_info(&self) -> &SideInfo {
        &self.side_info
    }

    fn best(
        &mut self,
        lambda: u32,
        blocks: &Blocks,
        quarters: &BySource<Quarters>,
        found: &MotionCandidate,
        field: &Field,
        near: &Neighbours,
    ) -> Block {
        let at = near.at;
        let corner = [at % field.across * BLOCK, at / field.across * BLOCK];
        let own = blocks.square::<BLOCK>(corner);
        let (level, difference) = flat(&own);
        let mut best = Block::Constant(level);
        let source = field.sources[at];
        if source == Source::Constant {
            return best;
        }
        let quarters = quarters.of(source);
        // A constant loses a texture that a moved block would have predicted.
        let mut least = difference * 13 / 10 + self.bits(lambda, near, best);
        let mut consider = |modes: &mut Self, block: Block, difference: u32| {
            let cost = difference + modes.bits(lambda, near, block);
            if cost < least {
                (best, least) = (block, cost);
            }
        };
        let candidates = near.candidates.as_slice();
        for vector in candidates.iter().copied().chain([found.whole]) {
            consider(self, Block::whole(vector), quarters.difference(&own, corner, vector));
        }
        let (block, difference) = split(lambda, blocks, quarters, found, corner, candidates[0]);
        if block.one_vector().is_none() {
            consider(self, block, difference);
        }
        best
    }

    /// Returns the cost of the block's bits.
    fn bits(&mut self, lambda: u32, near: &Neighbours, block: Block) -> u32 {
        let mut cost = Cost::default();
        let _ = self.side_info.block_near(&mut cost, near, block);
        lambda * cost.0 / (16 * COST_PER_BIT)
    }
}

/// Returns each partition's best of its own vector, the one before, the block's and the predicted one; and their
/// difference.
fn split(
    lambda: u32,
    blocks: &Blocks,
    quarters: &Quarters,
    found: &MotionCandidate,
    corner: [usize; 2],
    predicted: Vector,
) -> (Block, u32) {
    let mut before = predicted;
    let mut sum = 0;
    let vectors = std::array::from_fn(|partition| {
        let corner = [corner[0] + partition % 2 * PARTITION_SIDE, corner[1] + partition / 2 * PARTITION_SIDE];
        let own = blocks.square::<PARTITION_SIDE>(corner);
        let mut best = (u32::MAX, before, 0);
        for vector in [found.partitions[partition], before, found.whole, predicted] {
            let difference = with_instructions!(|all| quarters.of_partition(all, &own, corner, vector));
            // Adaptive codes take about three quarters of the bits of plain ones.
            let bits = if vector == before { 4 } else { 4 + 3 * cost::of_difference(vector, before) };
            let cost = difference + lambda * bits / (4 * 16);
            if cost < best.0 {
                best = (cost, vector, difference);
            }
        }
        before = best.1;
        sum += best.2;
        best.1
    });
    (Block::Moved(vectors), sum)
}

/// Returns the constant nearest to a block, and the sum of absolute differences from it.
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
fn flat(own: &[[u8; BLOCK]; BLOCK]) -> (u8, u32) {
    let all = || own.as_flattened().iter().copied();
    let mean = all().map(u32::from).sum::<u32>() / BLOCK_PIXELS;
    let level = ((mean + 2) / 4).min(u32::from(CONSTANTS) - 1) as u8;
    (level, all().map(|sample| u32::from(sample.abs_diff(level * 4))).sum())
}
