//! Refines the choice by the error of overlapped prediction: each block tries the vectors of its neighbours, and pairs
//! of vectors. In effort `fast` it tries one pair alone.
//!
//! The error is measured by its Hadamard transform (Pratt, Kane, Andrews, "Hadamard transform image coding", 1969), as
//! in encoders of H.264: the sum of absolute transformed differences, SATD (Lim, Sullivan, Wiegand, "Text description
//! of Joint Model reference encoding methods and decoding concealment methods", JVT-O079, 2005). Orchard and Sullivan
//! ("Overlapped block motion compensation", 1994) choose a block's vector again among overlapped neighbours, where each
//! block knows the others' choice.
//!
//! Bands of rows are refined in parallel, each as if the others kept their blocks; the result does not depend on
//! threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::motion::field::{BLOCK_SIDE, Block, Field, PARTITION_SIDE};
use crate::motion::reference::{BySource, FRACTION_BITS, Past, Plane};
use crate::motion::search::block::{Blocks, MotionCandidate};
use crate::motion::search::cost::{COST_PER_BIT, Cost};
use crate::motion::search::quarters::Quarters;
use crate::motion::search::second::Second;
use crate::motion::search::shares::{OVERLAPPED_SIDE, Room, Sampler, Square, Sums, Target};
use crate::motion::side_info::{Neighbours, SideInfo};
use crate::motion::vector::Vector;
use crate::parallel::{self, Threads};

/// Rows of blocks in a band.
const BAND_BLOCK_ROWS: usize = 6;
/// Candidates of a block.
const MAX_CANDIDATES: usize = 17;
/// The limit of the first comparison, without neighbours: a candidate is tried if its error exceeds the smallest by at
/// most this part and a little. On five clips of no benchmark this was as good, and took a tenth less time.
const MAY_LEAVE_MORE: u32 = 8;
/// The number of vector pairs that a block tries.
const MAX_PAIRS: usize = 4;
/// The factor by which a bit is worth less here than for untransformed differences: found on 13 clips of no benchmark.
const BIT_WORTH: [u32; 2] = [9, 16];
/// The smallest sum of absolute differences at which a static block tries pairs: half a step a sample.
const LEAST_LEFT: u32 = 128;
const _: () = assert!(LEAST_LEFT as usize == BLOCK_SIDE * BLOCK_SIDE / 2);

/// The inputs of a choice.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// Steps of difference that a bit is worth, in 1/16.
    pub(super) lambda: u32,
    pub(super) blocks: &'a Blocks,
    /// Luma of the references.
    pub(super) planes: BySource<Past<&'a Plane>>,
    /// The same planes, interpolated.
    pub(super) quarters: &'a Past<BySource<Quarters>>,
    /// The vectors that were found for each block; `None`: a block tries no other vector than its own, and one pair.
    pub(super) found: Option<&'a [MotionCandidate]>,
    /// The state after the chosen field was coded; its probabilities give the bits.
    pub(super) side_info: &'a SideInfo,
    /// The refined field of the rendition that was searched, if this is another one: its blocks try fewer candidates.
    pub(super) first: Option<&'a Field>,
}

/// Refines one frame after another.
#[derive(Debug, Default)]
pub(super) struct Overlapped {
    side_info: SideInfo,
    chosen: Vec<Block>,
    /// Memory of bands that no thread uses; there are as many as there were threads.
    rooms: Mutex<Vec<Band>>,
}

impl Overlapped {
    /// Improves `field` and returns its bytes, in the memory of `bytes`.
    pub(super) fn refine(
        &mut self,
        inputs: Inputs<'_>,
        threads: &Threads,
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> Vec<u8> {
        let inputs = Inputs { lambda: inputs.lambda * BIT_WORTH[0] / BIT_WORTH[1], ..inputs };
        let Self { side_info, chosen, rooms } = self;
        chosen.clone_from(&field.blocks);
        let before = &*field;
        let rooms = &*rooms;
        let bands = chosen.chunks_mut(BAND_BLOCK_ROWS * before.across).enumerate();
        parallel::for_each(threads, bands, |(number, out)| {
            let rooms = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
            let mut band = rooms().pop().unwrap_or_default();
            band.refine(inputs, before, number * BAND_BLOCK_ROWS..((number + 1) * BAND_BLOCK_ROWS).min(before.down));
            out.copy_from_slice(&band.field.blocks[number * BAND_BLOCK_ROWS * before.across..][..out.len()]);
            rooms().push(band);
        });
        field.blocks.copy_from_slice(chosen);
        field.bipredicts &= chosen.iter().any(|block| matches!(block, Block::Bipredicted(_)));
        side_info.encode(field, bytes)
    }
}

/// A band of rows of blocks that does not know the new choices of other bands.
#[derive(Debug, Default)]
struct Band {
    field: Field,
    side_info: SideInfo,
    /// The sums of the rows that this band's blocks cover with their overlap.
    sums: Vec<i16>,
    room: Room,
}

impl Band {
    fn refine(&mut self, inputs: Inputs<'_>, before: &Field, rows: Range<usize>) {
        self.field.copy_from(before);
        self.side_info.copy_from(inputs.side_info);
        let Self { field, side_info, sums, room } = self;
        let mut sampler = Sampler { planes: inputs.planes, room };
        let across = field.across;
        let near = rows.start.saturating_sub(1)..(rows.end + 1).min(field.down);
        let mut sums = reset(sums, field, near.clone());
        for at in near.start * across..near.end * across {
            sums.add(&mut sampler, field, at, &before.blocks[at]);
        }
        for at in rows.start * across..rows.end * across {
            let near = side_info.near(field, at);
            if let Block::Moved(_) = field.blocks[at]
                && (!is_calm(field, at) || may_pay(inputs, field, at))
            {
                field.blocks[at] = best(inputs, (side_info, &near), &mut sums, &mut sampler, field, at);
            }
            // Records the block for the contexts of the blocks after it.
            let _ = side_info.block_near(&mut Cost::default(), &near, field.blocks[at]);
        }
    }
}

/// Returns zeros for all samples that these rows of blocks cover with their overlap.
fn reset<'a>(all: &'a mut Vec<i16>, field: &Field, rows: Range<usize>) -> Sums<'a> {
    let width = field.across * BLOCK_SIDE;
    let top = (rows.start * BLOCK_SIDE).saturating_sub(PARTITION_SIDE / 2);
    let end = (rows.end * BLOCK_SIDE + PARTITION_SIDE / 2).min(field.down * BLOCK_SIDE);
    all.clear();
    all.resize((end - top) * width + OVERLAPPED_SIDE, 0);
    Sums { all, width, corner: [0, top] }
}

/// Returns the best of a block's candidates, and stores its contributions in the sums.
fn best(
    inputs: Inputs<'_>,
    (side_info, near): (&mut SideInfo, &Neighbours),
    sums: &mut Sums<'_>,
    sampler: &mut Sampler<'_>,
    field: &Field,
    at: usize,
) -> Block {
    let footprint = Footprint::of(field, at);
    let before = field.blocks[at];
    let own = footprint.shares(sampler, field, at, &before);
    // All contributions but this block's.
    let mut target = Target { wanted: footprint.wanted(inputs.blocks), others: footprint.of_sums(sums) };
    for (others, own) in target.others.as_flattened_mut().iter_mut().zip(own.as_flattened()) {
        *others -= own;
    }
    let mut trial = Trial { inputs, side_info, near, sampler, field, at, target, own, best: before, cost: u32::MAX };
    trial.try_vectors();
    trial.try_pairs();
    let Trial { mut target, best, .. } = trial;
    if best != before {
        let own = footprint.shares(sampler, field, at, &best);
        for (others, own) in target.others.as_flattened_mut().iter_mut().zip(own.as_flattened()) {
            *others += own;
        }
        footprint.put(sums, &target.others);
    }
    best
}

/// A block, and the best candidate so far.
struct Trial<'a, 'b> {
    inputs: Inputs<'a>,
    side_info: &'a mut SideInfo,
    near: &'a Neighbours,
    sampler: &'a mut Sampler<'b>,
    field: &'a Field,
    at: usize,
    target: Target,
    /// The contributions of the block as it was before.
    own: Square,
    best: Block,
    /// The error of the best, plus the cost of its bits, in steps.
    cost: u32,
}

impl Trial<'_, '_> {
    /// Tries the block as it was, then whole vectors from its surroundings.
    fn try_vectors(&mut self) {
        let Self { inputs, field, at, .. } = *self;
        let (candidates, count) = match inputs.found {
            Some(found) if !is_calm(field, at) && !agrees(inputs, field, at) => {
                candidates((inputs, &found[at]), self.near, field, at)
            }
            _ => ([field.blocks[at]; MAX_CANDIDATES], 1),
        };
        self.consider(candidates[0]);
        let mut differences = [u32::MAX; MAX_CANDIDATES];
        if count > 1 {
            differences.iter_mut().zip(&candidates[..count]).for_each(|(out, block)| *out = self.difference(block));
        }
        let least = differences.into_iter().min().unwrap_or(0);
        let enough = least.saturating_add(least / MAY_LEAVE_MORE + LEAST_LEFT / 2);
        // In a further rendition only the best other candidate is tried.
        let best = inputs.first.and_then(|_| differences[1..].iter().copied().min()).unwrap_or(u32::MAX);
        let enough = enough.min(best);
        for (block, _) in candidates.iter().zip(differences).take(count).skip(1).filter(|(_, left)| *left <= enough) {
            self.consider(*block);
        }
    }

    /// Estimates the block's error without its neighbours' overlap; the maximum for a split block.
    fn difference(&self, block: &Block) -> u32 {
        let Self { inputs, field, at, .. } = *self;
        let corner = [at % field.across * BLOCK_SIDE, at / field.across * BLOCK_SIDE];
        let quarters = inputs.quarters.last.of(field.sources[at]);
        let own = inputs.blocks.square::<BLOCK_SIDE>(corner);
        block.one_vector().map_or(u32::MAX, |vector| quarters.difference(&own, corner, vector))
    }

    /// Tries pairs of vectors whose first is the best one so far.
    fn try_pairs(&mut self) {
        let Self { field, at, .. } = *self;
        if let Some(first) = self.best.one_vector().filter(|_| self.near.may_bipredict) {
            let (pairs, count) = pairs(self.inputs, self.near, field, first, at);
            pairs[..count].iter().for_each(|pair| self.consider(Block::Bipredicted(*pair)));
        }
    }

    fn consider(&mut self, block: Block) {
        let Self { near, field, at, .. } = *self;
        let mut bits = Cost::default();
        let _ = self.side_info.block_near(&mut bits, near, block);
        let bits = self.inputs.lambda * bits.0 / (16 * COST_PER_BIT);
        let Some(enough) = self.cost.checked_sub(bits).filter(|enough| *enough > 0) else { return };
        // Only the block as it was can be split.
        let left = if block == field.blocks[at] {
            self.target.left(&self.own, enough)
        } else {
            self.target.left_of_moved(self.sampler, field, at, &block, enough)
        };
        if left < enough {
            (self.best, self.cost) = (block, left + bits);
        }
    }
}

/// Returns the pairs of vectors that block `at` tries; `first` is its best vector. The second vector comes from a
/// search, the neighbours' pairs, or the prediction, which costs no bits.
fn pairs(
    inputs: Inputs<'_>,
    near: &Neighbours,
    field: &Field,
    first: Vector,
    at: usize,
) -> ([[Vector; 2]; MAX_PAIRS], usize) {
    let corner = [at % field.across * BLOCK_SIDE, at / field.across * BLOCK_SIDE];
    let Past { last, before } = inputs.quarters;
    let quarters = Past { last, before }.map(|quarters| quarters.of(field.sources[at]));
    let predicted = near.second(first);
    let second = Second { lambda: inputs.lambda, quarters, corner, first, predicted };
    let found = second.find(&inputs.blocks.square(corner));
    let mut all = [[first, found]; MAX_PAIRS];
    let mut count = 1;
    // The search began with the prediction. In a further rendition, and in effort `fast`, pairs of neighbours gain too
    // little.
    if inputs.first.is_some() || inputs.found.is_none() {
        return (all, count);
    }
    let left = (!at.is_multiple_of(field.across)).then(|| field.blocks[at - 1]);
    let above = at.checked_sub(field.across).map(|above| field.blocks[above]);
    let near = [left, above].into_iter().flatten();
    let near = near.filter_map(|block| if let Block::Bipredicted(pair) = block { Some(pair) } else { None });
    for pair in near.chain([[first, predicted]]) {
        if !all[..count].contains(&pair) {
            all[count] = pair;
            count += 1;
        }
    }
    (all, count)
}

/// The samples of a frame that a block covers with its overlap. Squares of them have rows of [`OVERLAPPED_SIDE`], with
/// zeros after the frame's.
#[derive(Clone, Copy)]
struct Footprint {
    corner: [usize; 2],
    sides: [usize; 2],
}

impl Footprint {
    fn of(field: &Field, at: usize) -> Self {
        let place = [at % field.across, at / field.across];
        let corner = place.map(|at| (at * BLOCK_SIDE).saturating_sub(PARTITION_SIDE / 2));
        let limits = [field.across * BLOCK_SIDE, field.down * BLOCK_SIDE];
        let sides = [0, 1]
            .map(|axis| (place[axis] * BLOCK_SIDE + BLOCK_SIDE + PARTITION_SIDE / 2).min(limits[axis]) - corner[axis]);
        Self { corner, sides }
    }

    /// Returns the contributions of block `at` alone if it is `block`.
    fn shares(self, sampler: &mut Sampler<'_>, field: &Field, at: usize, block: &Block) -> Square {
        let mut all = [0; OVERLAPPED_SIDE * OVERLAPPED_SIDE + OVERLAPPED_SIDE];
        Sums { all: &mut all, width: OVERLAPPED_SIDE, corner: self.corner }.add(sampler, field, at, block);
        std::array::from_fn(|y| std::array::from_fn(|x| all[y * OVERLAPPED_SIDE + x]))
    }

    /// Returns the place of row `y` in sums.
    const fn row(self, sums: &Sums<'_>, y: usize) -> Range<usize> {
        let first = (self.corner[1] + y - sums.corner[1]) * sums.width + self.corner[0];
        first..first + self.sides[0]
    }

    fn of_sums(self, sums: &Sums<'_>) -> Square {
        let mut square = [[0; OVERLAPPED_SIDE]; OVERLAPPED_SIDE];
        for (y, out) in square.iter_mut().enumerate().take(self.sides[1]) {
            out[..self.sides[0]].copy_from_slice(&sums.all[self.row(sums, y)]);
        }
        square
    }

    fn put(self, sums: &mut Sums<'_>, square: &Square) {
        for (y, row) in square.iter().enumerate().take(self.sides[1]) {
            let range = self.row(sums, y);
            sums.all[range].copy_from_slice(&row[..self.sides[0]]);
        }
    }

    /// Returns the frame's samples, in the format of references.
    fn wanted(self, blocks: &Blocks) -> Square {
        let mut wanted = [[0; OVERLAPPED_SIDE]; OVERLAPPED_SIDE];
        for (y, out) in wanted.iter_mut().enumerate().take(self.sides[1]) {
            let luma = blocks.row([self.corner[0], self.corner[1] + y], self.sides[0]);
            out.iter_mut().zip(luma).for_each(|(out, luma)| *out = (i16::from(*luma) - 128) << FRACTION_BITS);
        }
        wanted
    }
}

/// Returns whether a block and all around it are static, so that no better vector is near.
fn is_calm(field: &Field, at: usize) -> bool {
    let x = at % field.across;
    let y = at / field.across;
    let columns = x.saturating_sub(1)..(x + 2).min(field.across);
    let rows = y.saturating_sub(1)..(y + 2).min(field.down);
    let mut near = rows.flat_map(|y| columns.clone().map(move |x| y * field.across + x));
    field.blocks[at].one_vector() == Some(Vector::ZERO) && near.all(|near| field.blocks[near] == field.blocks[at])
}

/// Returns whether block `at` moves in the rendition that was searched as it does here, or is split in both: no other
/// candidate is then likely to be better.
fn agrees(inputs: Inputs<'_>, field: &Field, at: usize) -> bool {
    let here = field.blocks[at];
    inputs.first.map(|first| first.blocks[at]).is_some_and(|there| {
        matches!((there, here), (Block::Moved(_), Block::Moved(_))) && there.whole_vector() == here.one_vector()
    })
}

/// Returns whether static block `at` may try a second vector: the error of its first one is large enough.
fn may_pay(inputs: Inputs<'_>, field: &Field, at: usize) -> bool {
    let corner = [at % field.across * BLOCK_SIDE, at / field.across * BLOCK_SIDE];
    let own = inputs.blocks.square(corner);
    let quarters = inputs.quarters.last.of(field.sources[at]);
    field.may_bipredict(at) && quarters.difference(&own, corner, Vector::ZERO) >= LEAST_LEFT
}

/// Returns the candidates of a block, itself first.
fn candidates(
    (inputs, found): (Inputs<'_>, &MotionCandidate),
    near: &Neighbours,
    field: &Field,
    at: usize,
) -> ([Block; MAX_CANDIDATES], usize) {
    let before = field.blocks[at];
    let mut all = [before; MAX_CANDIDATES];
    let mut count = 1;
    let mut add = |block: Block| {
        if count < MAX_CANDIDATES && !all[..count].contains(&block) {
            all[count] = block;
            count += 1;
        }
    };
    let first = inputs.first.and_then(|first| first.blocks[at].whole_vector());
    first.into_iter().for_each(|vector| add(Block::whole(vector)));
    near.candidates.as_slice().iter().for_each(|vector| add(Block::whole(*vector)));
    let right = (at % field.across + 1 < field.across).then_some(at + 1);
    let below = (at / field.across + 1 < field.down).then_some(at + field.across);
    for vector in [right, below].into_iter().flatten().filter_map(|at| field.blocks[at].vector(0)) {
        add(Block::whole(vector));
    }
    add(Block::whole(found.whole));
    if let Some(vector) = before.one_vector().filter(|_| inputs.first.is_none()) {
        for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
            add(Block::whole(vector.plus(Vector { x, y })));
        }
    }
    (all, count)
}
