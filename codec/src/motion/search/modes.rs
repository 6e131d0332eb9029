//! The choice of each block's prediction: compares the found vectors with those of neighbours, by difference and real
//! bits.

use crate::entropy::range_coder::RangeEncoder;
use crate::motion::field::{BLOCK_SIDE, Block, CONSTANT_LEVELS, Field, Source};
use crate::motion::reference::BySource;
use crate::motion::search::block::{Blocks, MotionCandidate};
use crate::motion::search::cost::{self, COST_PER_BIT, Cost};
use crate::motion::search::difference::Differences;
use crate::motion::search::quarters::Quarters;
use crate::motion::side_info::{Neighbours, SideInfo};
use crate::motion::vector::Vector;
use crate::simd::with_instructions;

/// Luma samples of a block.
const BLOCK_PIXELS: u32 = 256;
const _: () = assert!(BLOCK_PIXELS as usize == BLOCK_SIDE * BLOCK_SIDE);

/// How much nearer to a block a constant must be than a vector: twelve steps a sample. With a constant the block loses
/// what residuals of many frames brought to the references, and later frames have to code it anew.
pub(super) const CONSTANT_LOSS: u32 = 12 * BLOCK_PIXELS;
/// The most times that the worth of a bit is raised in a frame.
const MOST_RAISES: usize = 8;
/// A worth that is not raised any more: 290 luma steps.
const MOST_LAMBDA: u32 = 290 * 16;
/// The factor of each raise.
const LAMBDA_RAISE: [u32; 2] = [7, 5];
/// The most vectors of a block whose differences are kept.
const MAX_COMPARED: usize = 10;

/// Chooses for one frame after another.
#[derive(Debug, Default)]
pub(super) struct Modes {
    side_info: SideInfo,
    /// The differences of this frame's blocks, as far as they are known.
    compared: Vec<Compared>,
}

/// The inputs of a choice.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) blocks: &'a Blocks,
    pub(super) quarters: &'a BySource<Quarters>,
    pub(super) found: &'a [MotionCandidate],
}

/// The differences of one block. They depend on no other block and no price of a bit, so that a frame needs each once.
#[derive(Debug, Clone, Copy, Default)]
struct Compared {
    /// The constant nearest to the block, and the sum of absolute differences from it.
    flat: Option<(u8, u32)>,
    count: usize,
    vectors: [ComparedVector; MAX_COMPARED],
}

/// The differences for one vector.
#[derive(Debug, Clone, Copy, Default)]
struct ComparedVector {
    vector: Vector,
    /// The sum of the whole block.
    whole: u16,
    /// The sums of its partitions.
    partitions: [u16; 4],
}

impl Modes {
    /// Fills in `field`, and returns its bytes, in the memory of `bytes`, and what a bit was worth: `lambda`, in 1/16 of a
    /// step of difference, raised while there are more bytes than `most_bytes`. `least`: the least worth to begin a frame
    /// with, one raise below what the frame before needed, 0 if it needed none.
    pub(super) fn choose_within(
        &mut self,
        most_bytes: usize,
        (mut lambda, least): (u32, &mut u32),
        inputs: Inputs<'_>,
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> (Vec<u8>, u32) {
        self.compared.clear();
        self.compared.resize(field.blocks.len(), Compared::default());
        // Frames need nearly as many bits as those before them, so it begins with one raise less than for the last
        // frame, whatever a bit was worth there before its raises.
        let mut below = 0;
        while lambda < *least {
            (below, lambda) = (lambda, raise(lambda));
        }
        let mut bytes = self.choose(lambda, inputs, field, bytes);
        for _ in 0..MOST_RAISES {
            if bytes.len() <= most_bytes || lambda >= MOST_LAMBDA {
                break;
            }
            (below, lambda) = (lambda, raise(lambda));
            bytes = self.choose(lambda, inputs, field, bytes);
        }
        *least = below;
        (bytes, lambda)
    }

    /// Fills in `field` and returns its bytes, in the memory of `bytes`. `lambda`: steps of difference that a bit is
    /// worth, in 1/16.
    fn choose(&mut self, lambda: u32, inputs: Inputs<'_>, field: &mut Field, bytes: Vec<u8>) -> Vec<u8> {
        self.side_info.reset(field);
        let mut coder = RangeEncoder::new();
        coder.restart(bytes, ());
        with_instructions!(|all| self.choose_with(all, lambda, inputs, field, &mut coder));
        coder.finish_before_zeros()
    }

    #[inline(always)]
    fn choose_with(
        &mut self,
        instructions: impl Differences,
        lambda: u32,
        inputs: Inputs<'_>,
        field: &mut Field,
        coder: &mut RangeEncoder,
    ) {
        let Self { side_info, compared } = self;
        for (at, (found, compared)) in inputs.found.iter().zip(compared).enumerate() {
            let near = side_info.near(field, at);
            let place = [at % field.across, at / field.across];
            let quarters = inputs.quarters.of(field.sources[at]);
            let corner = place.map(|at| at * BLOCK_SIDE);
            let of = Compare { instructions, blocks: inputs.blocks, quarters, corner, compared };
            let block = Trial { side_info, lambda, near: &near }.best(of, field.sources[at], found);
            field.blocks[at] = block;
            // An encoder is never starved.
            let _ = side_info.block_near(coder, &near, block);
        }
    }

    /// The side information after the last field.
    pub(super) const fn side_info(&self) -> &SideInfo {
        &self.side_info
    }
}

/// Returns a worth that is one raise higher. Worths are at least 16, so that every raise counts.
const fn raise(lambda: u32) -> u32 {
    lambda * LAMBDA_RAISE[0] / LAMBDA_RAISE[1]
}

/// Compares one block with references, each vector once.
struct Compare<'a, I> {
    instructions: I,
    blocks: &'a Blocks,
    quarters: &'a Quarters,
    corner: [usize; 2],
    compared: &'a mut Compared,
}

impl<I: Differences> Compare<'_, I> {
    #[inline(always)]
    fn flat(&mut self) -> (u8, u32) {
        *self.compared.flat.get_or_insert_with(|| flat(&self.blocks.square(self.corner)))
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "256 differences of bytes at most")]
    fn vector(&mut self, vector: Vector) -> ComparedVector {
        let Compared { count, vectors, .. } = &mut *self.compared;
        if let Some(known) = vectors[..*count].iter().find(|known| known.vector == vector) {
            return *known;
        }
        let own = self.blocks.square::<BLOCK_SIDE>(self.corner);
        let (whole, partitions) = self.quarters.of_block_and_partitions(self.instructions, &own, self.corner, vector);
        let new = ComparedVector { vector, whole: whole as u16, partitions: partitions.map(|sum| sum as u16) };
        if *count < MAX_COMPARED {
            vectors[*count] = new;
            *count += 1;
        }
        new
    }
}

/// The choice of one block.
struct Trial<'a> {
    side_info: &'a mut SideInfo,
    lambda: u32,
    near: &'a Neighbours,
}

impl Trial<'_> {
    #[inline(always)]
    fn best(mut self, mut of: Compare<'_, impl Differences>, source: Source, found: &MotionCandidate) -> Block {
        if source == Source::Constant {
            return Block::Constant(of.flat().0);
        }
        let Self { near, lambda, .. } = self;
        let candidates = near.candidates.as_slice();
        let (mut best, mut least) = (Block::whole(candidates[0]), u32::MAX);
        let mut consider = |block: Block, difference: u32| {
            if difference >= least {
                return;
            }
            let cost = difference + self.bits(block);
            if cost < least {
                (best, least) = (block, cost);
            }
        };
        for vector in candidates.iter().copied().chain([found.whole]) {
            consider(Block::whole(vector), of.vector(vector).whole.into());
        }
        let (block, difference) = split(lambda, &mut of, found, candidates[0]);
        if block.one_vector().is_none() {
            consider(block, difference);
        }
        if least > CONSTANT_LOSS {
            let (level, difference) = of.flat();
            let constant = Block::Constant(level);
            if difference + CONSTANT_LOSS + self.bits(constant) < least {
                best = constant;
            }
        }
        best
    }

    /// Returns the cost of the block's bits.
    fn bits(&mut self, block: Block) -> u32 {
        let mut cost = Cost::default();
        let _ = self.side_info.block_near(&mut cost, self.near, block);
        self.lambda * cost.0 / (16 * COST_PER_BIT)
    }
}

/// Returns each partition's best of its own vector, the one before, the block's and the predicted one; and their
/// difference.
#[inline(always)]
fn split(
    lambda: u32,
    of: &mut Compare<'_, impl Differences>,
    found: &MotionCandidate,
    predicted: Vector,
) -> (Block, u32) {
    let mut before = predicted;
    let mut sum = 0;
    let mut vectors = [predicted; 4];
    for (partition, out) in vectors.iter_mut().enumerate() {
        let mut best = (u32::MAX, before, 0);
        for vector in [found.partitions[partition], before, found.whole, predicted] {
            let difference = of.vector(vector).partitions[partition].into();
            // Adaptive codes take about three quarters of the bits of plain ones.
            let bits = if vector == before { 4 } else { 4 + 3 * cost::of_difference(vector, before) };
            let cost = difference + lambda * bits / (4 * 16);
            if cost < best.0 {
                best = (cost, vector, difference);
            }
        }
        before = best.1;
        sum += best.2;
        *out = best.1;
    }
    (Block::Moved(vectors), sum)
}

/// Returns the constant nearest to a block, and the sum of absolute differences from it.
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
pub(super) fn flat(own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE]) -> (u8, u32) {
    let all = || own.as_flattened().iter().copied();
    let mean = all().map(u32::from).sum::<u32>() / BLOCK_PIXELS;
    let level = ((mean + 2) / 4).min(u32::from(CONSTANT_LEVELS) - 1) as u8;
    (level, all().map(|sample| u32::from(sample.abs_diff(level * 4))).sum())
}
