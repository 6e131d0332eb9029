//! The choice of motion in real time: each block is searched and decided at once, in one pass over the frame.
//!
//! The search begins with the vectors of neighbours and of the last frame and stops as soon as a block is predicted
//! well (as P-skip of encoders of H.264, and the "early termination" of Tourapis, "Enhanced predictive zonal search for
//! single and multiple frame motion estimation", Proc. SPIE 4671, 2002). A comparison of a block gives the sums of its
//! partitions too, so the partitions' vectors are the best ones that the block tried.
//!
//! Rows of blocks are searched in pieces, each as if nothing were above it but the last frame's vectors. So the result
//! does not depend on threads. Bits have fixed estimates; the field is coded when all its blocks are known.

use crate::motion::field::{BLOCK, Block, Field, Source};
use crate::motion::reference::BySource;
use crate::motion::search::block::{Blocks, PIECE_BLOCK_ROWS};
use crate::motion::search::cost;
use crate::motion::search::difference::{Differences, Quadrants};
use crate::motion::search::modes::flat;
use crate::motion::search::pyramid::CoarseVector;
use crate::motion::search::quarters::Quarters;
use crate::motion::side_info::{Candidates, SideInfo};
use crate::motion::vector::Vector;
use crate::parallel::{self, Threads};
use crate::simd::with_instructions;

/// The estimated quarters of a bit that it takes to copy each candidate.
const MERGE_QUARTER_BITS: [u32; 5] = [3, 9, 13, 16, 16];
/// The same before a vector of its own, and before four of partitions.
const WHOLE_QUARTER_BITS: u32 = 16;
const SPLIT_QUARTER_BITS: u32 = 20;
/// The same of a partition that moves as the one before, and before a vector of its own.
const SAME_QUARTER_BITS: u32 = 5;
const PARTITION_QUARTER_BITS: u32 = 6;
/// The same of a constant.
const CONSTANT_QUARTER_BITS: u32 = 40;
/// A block is predicted well if its difference is worth no more bits than this.
const ENOUGH_BITS: u32 = 16;
/// The most vectors that a block tries.
const MAX_TRIED: usize = 48;
/// The most steps of a descent by whole samples.
const MAX_STEPS: usize = 8;

/// Chooses for one frame after another.
#[derive(Debug, Default)]
pub(super) struct SinglePass {
    side_info: SideInfo,
    /// The vectors of the last frame's blocks.
    before: Vec<Vector>,
}

/// The inputs of a choice.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// Steps of difference that a bit is worth, in 1/16.
    pub(super) lambda: u32,
    pub(super) blocks: &'a Blocks,
    pub(super) quarters: &'a BySource<Quarters>,
    pub(super) rough: &'a [CoarseVector],
}

impl SinglePass {
    /// Forgets the last frame.
    pub(super) fn begin_anew(&mut self) {
        self.before.clear();
    }

    /// Fills in `field` and returns its bytes, in the memory of `bytes`.
    pub(super) fn choose(
        &mut self,
        inputs: Inputs<'_>,
        threads: &Threads,
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> Vec<u8> {
        let Self { side_info, before } = self;
        before.resize(field.blocks.len(), Vector::ZERO);
        let Field { across, blocks, sources, .. } = &mut *field;
        let rows = PIECE_BLOCK_ROWS * *across;
        parallel::for_each(threads, blocks.chunks_mut(rows).enumerate(), |(piece, out)| {
            let piece = Piece { inputs, across: *across, sources, before, first: piece * rows };
            with_instructions!(|all| piece.choose(all, out));
        });
        before.iter_mut().zip(&field.blocks).for_each(|(before, block)| {
            *before = block.vector(0).unwrap_or_default();
        });
        side_info.encode(field, bytes)
    }
}

/// The blocks of one job.
struct Piece<'a> {
    inputs: Inputs<'a>,
    across: usize,
    sources: &'a [Source],
    before: &'a [Vector],
    /// The number of the first block.
    first: usize,
}

impl Piece<'_> {
    #[inline(always)]
    fn choose(&self, instructions: impl Differences, out: &mut [Block]) {
        for at in 0..out.len() {
            out[at] = self.best(instructions, out, at);
        }
    }

    /// Returns the vectors of the neighbours to the left, above, and above to the right or else to the left.
    #[inline(always)]
    fn near(&self, known: &[Block], at: usize) -> [Option<Vector>; 3] {
        let Self { across, .. } = *self;
        let (number, x) = (self.first + at, at % across);
        let above = |step: usize, partition: usize| {
            let number = (number + step).checked_sub(across + 1)?;
            match number.checked_sub(self.first) {
                Some(at) => known[at].vector(partition),
                None => Some(self.before[number]),
            }
        };
        let left = if x > 0 { known[at - 1].vector(1) } else { None };
        let corner = if x + 1 < across {
            above(2, 2)
        } else if x > 0 {
            above(0, 3)
        } else {
            None
        };
        [left, above(1, 2), corner]
    }

    #[inline(always)]
    fn best(&self, instructions: impl Differences, known: &[Block], at: usize) -> Block {
        let Self { inputs: Inputs { lambda, blocks, quarters, rough }, across, .. } = *self;
        let number = self.first + at;
        let source = self.sources[number];
        let corner = [number % across, number / across].map(|at| at * BLOCK);
        let own = blocks.square::<BLOCK>(corner);
        if source == Source::Constant {
            return Block::Constant(flat(&own).0);
        }
        let candidates = Candidates::of(self.near(known, at));
        let candidates = candidates.as_slice();
        let quarters = quarters.of(source);
        let compare = |vector| quarters.of_block(instructions, &own, corner, vector);
        let mut trial = Trial::new(compare, lambda, candidates[0]);
        let enough = lambda * ENOUGH_BITS / 16;
        for (vector, bits) in candidates.iter().zip(MERGE_QUARTER_BITS) {
            if trial.consider(*vector, bits) <= enough {
                return Block::whole(*vector);
            }
        }
        for start in [self.before[number], rough[number].vector] {
            trial.consider_new(start);
        }
        trial.descend();
        if trial.best.difference <= enough {
            return Block::whole(trial.best.vector);
        }
        let (level, difference) = flat(&own);
        let constant = difference * 13 / 10 + trial.price(CONSTANT_QUARTER_BITS);
        let (split, cost) = trial.split();
        if constant < cost.min(trial.best.cost) {
            Block::Constant(level)
        } else if cost < trial.best.cost {
            split
        } else {
            Block::whole(trial.best.vector)
        }
    }
}

/// The best vector of a block so far.
#[derive(Clone, Copy)]
struct Best {
    vector: Vector,
    cost: u32,
    difference: u32,
}

/// The vectors that one block tried, with the sums that `compare` returns.
struct Trial<F> {
    compare: F,
    lambda: u32,
    predicted: Vector,
    best: Best,
    count: usize,
    tried: [(Vector, Quadrants); MAX_TRIED],
}

impl<F: Fn(Vector) -> Quadrants> Trial<F> {
    #[inline(always)]
    fn new(compare: F, lambda: u32, predicted: Vector) -> Self {
        let best = Best { vector: predicted, cost: u32::MAX, difference: u32::MAX };
        Self { compare, lambda, predicted, best, count: 0, tried: [(Vector::ZERO, [0; 4]); MAX_TRIED] }
    }

    /// Returns the difference that quarters of a bit are worth.
    #[inline(always)]
    const fn price(&self, quarter_bits: u32) -> u32 {
        self.lambda * quarter_bits / (4 * 16)
    }

    /// Tries a vector that needs these bits, and returns its difference.
    #[inline(always)]
    fn consider(&mut self, vector: Vector, quarter_bits: u32) -> u32 {
        let sums = (self.compare)(vector);
        let difference = sums.iter().sum();
        let cost = difference + self.price(quarter_bits);
        if let Some(tried) = self.tried.get_mut(self.count) {
            *tried = (vector, sums);
            self.count += 1;
        }
        if cost < self.best.cost {
            self.best = Best { vector, cost, difference };
        }
        difference
    }

    /// Tries a vector of the block's own, unless it was tried or its bits alone cost too much.
    #[inline(always)]
    fn consider_new(&mut self, vector: Vector) {
        let bits = WHOLE_QUARTER_BITS + 3 * cost::of_difference(vector, self.predicted);
        let was_tried = self.tried[..self.count].iter().any(|tried| tried.0 == vector);
        if !was_tried && self.price(bits) < self.best.cost {
            self.consider(vector, bits);
        }
    }

    /// Searches from the best vector on: by whole samples, then halves, then quarters.
    #[inline(always)]
    fn descend(&mut self) {
        for (reach, steps) in [(4, MAX_STEPS), (2, 1), (1, 1)] {
            for _ in 0..steps {
                let from = self.best.vector;
                for (x, y) in [(reach, 0), (-reach, 0), (0, reach), (0, -reach)] {
                    self.consider_new(from.plus(Vector { x, y }));
                }
                if self.best.vector == from {
                    break;
                }
            }
        }
    }

    /// Returns the block in which each partition has the best of the tried vectors, and its cost.
    #[inline(always)]
    fn split(&self) -> (Block, u32) {
        let mut before = self.predicted;
        let mut sum = self.price(SPLIT_QUARTER_BITS);
        let mut vectors = [before; 4];
        for (partition, out) in vectors.iter_mut().enumerate() {
            let mut best = (u32::MAX, before);
            for (vector, sums) in &self.tried[..self.count] {
                let difference = sums[partition];
                if difference >= best.0 {
                    continue;
                }
                let bits = if *vector == before {
                    SAME_QUARTER_BITS
                } else {
                    PARTITION_QUARTER_BITS + 3 * cost::of_difference(*vector, before)
                };
                let cost = difference + self.price(bits);
                if cost < best.0 {
                    best = (cost, *vector);
                }
            }
            sum += best.0;
            before = best.1;
            *out = before;
        }
        let block = Block::Moved(vectors);
        (block, if block.one_vector().is_some() { u32::MAX } else { sum })
    }
}
