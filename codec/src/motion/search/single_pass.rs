//! The choice of motion in efforts `realtime` and `fast`: each block is searched and decided at once, in one pass over the frame.
//!
//! The search begins with the vectors of neighbours and of the last frame and stops as soon as a block is predicted
//! well (as P-skip of encoders of H.264, and the "early termination" of Tourapis, "Enhanced predictive zonal search for
//! single and multiple frame motion estimation", Proc. SPIE 4671, 2002). A comparison of a block gives the sums of its
//! partitions too, so the partitions' vectors are the best ones that the block tried.
//!
//! A row of blocks is searched as soon as the blocks above it are decided, so that rows go on side by side, a few
//! blocks apart (a wavefront). Bits are priced by the probabilities after the last frame, and the field is coded when
//! all its blocks are known: the result does not depend on threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::motion::field::{BLOCK_SIDE, Block, Field, Source, near_in_last};
use crate::motion::reference::BySource;
use crate::motion::search::block::Blocks;
use crate::motion::search::cost::{self, COST_PER_BIT};
use crate::motion::search::difference::{Differences, Quadrants};
use crate::motion::search::modes::{CONSTANT_LOSS, flat};
use crate::motion::search::prices::{Context, Prices};
use crate::motion::search::pyramid::CoarseVector;
use crate::motion::search::quarters::Quarters;
use crate::motion::side_info::{Candidates, Note, SideInfo};
use crate::motion::vector::Vector;
use crate::parallel::{self, Threads};
use crate::simd::with_instructions;

/// A block is predicted well if its difference is worth no more bits than this.
const ENOUGH_BITS: u32 = 45;
/// One whose difference is worth no more bits than this is not split.
const SPLIT_BITS: u32 = 100;
/// The most vectors of a block whose differences are kept for its partitions.
const MAX_TRIED: usize = 40;
/// The most steps of a descent by whole samples.
const MAX_STEPS: usize = 8;
/// The blocks after which a row tells the row below how far it is.
const STEP_BLOCKS: usize = 8;

/// After a choice whose side information had too many bytes, the worth of a bit is multiplied by the first factor, or
/// by as many times as there were too many, up to [`MOST_RAISE`]. After one that had fewer than this part of them, it is
/// multiplied by the second. It is [`Inputs::lambda`] at least, and this many times that at most.
const RAISE_RATIO: [u32; 2] = [5, 4];
const MOST_RAISE: u32 = 4;
const LOWER_RATIO: [u32; 2] = [7, 8];
const LOWER_BELOW: [usize; 2] = [4, 5];
const MOST_WORTH: u32 = 16;
/// The unit of worths.
const WORTH_UNIT: u32 = 256;

/// When to choose for a frame again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeats {
    /// The most times that a frame is chosen again.
    pub(super) most: usize,
    /// A frame is chosen again only if its side information has more bytes than this.
    pub(super) above_bytes: usize,
}

/// Chooses for one frame after another.
#[derive(Debug)]
pub(super) struct SinglePass {
    side_info: SideInfo,
    prices: Prices,
    /// How many times more a bit is worth than [`Inputs::lambda`], in 1/[`WORTH_UNIT`].
    worth: u32,
    /// The vectors of the blocks of the last choice: of the last frame, or of this one if it is chosen again.
    before: Vec<Vector>,
    rows: Vec<Progress>,
    /// For each row, the blocks above it, as far as it knows them.
    above: Vec<Vec<Decided>>,
}

/// A block, and what it means for its neighbours.
type Decided = (Block, Note);

/// The blocks of a row that were decided up to now.
#[derive(Debug, Default)]
struct Progress {
    done: Mutex<Done>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Done {
    decided: Vec<Decided>,
    /// Whether no more blocks follow.
    ended: bool,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a row again.
    fn clear(&mut self) {
        let done = self.done.get_mut().unwrap_or_else(PoisonError::into_inner);
        done.decided.clear();
        done.ended = false;
    }

    /// Waits until the row has `count` blocks, and adds those that `known` lacks to it. Returns `None` if the row ended
    /// before, because a panic left it.
    fn wait(&self, count: usize, known: &mut Vec<Decided>) -> Option<()> {
        let mut done = self.lock();
        while done.decided.len() < count && !done.ended {
            done = self.more.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        known.extend_from_slice(&done.decided[known.len()..]);
        (known.len() >= count).then_some(())
    }

    fn add(&self, decided: &[Decided]) {
        self.lock().decided.extend_from_slice(decided);
        self.more.notify_all();
    }
}

/// Ends a row when it is dropped, whatever the reason, so that no other row waits for it for ever.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.more.notify_all();
    }
}

impl Default for SinglePass {
    fn default() -> Self {
        Self {
            side_info: SideInfo::default(),
            prices: Prices::default(),
            worth: WORTH_UNIT,
            before: Vec::new(),
            rows: Vec::new(),
            above: Vec::new(),
        }
    }
}

/// The inputs of a choice.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// Steps of difference that a bit is worth, in 1/16.
    pub(super) lambda: u32,
    pub(super) blocks: &'a Blocks,
    pub(super) quarters: &'a BySource<Quarters>,
    pub(super) rough: &'a [CoarseVector],
    /// The choice of the rendition that was searched, if this is another one: its search then begins near there.
    pub(super) first: Option<&'a Field>,
}

impl SinglePass {
    /// Returns the choice for a rendition that branches off here.
    pub(super) fn branch(&self) -> Self {
        Self { worth: self.worth, ..Self::default() }
    }

    /// Forgets the last frame.
    pub(super) fn begin_anew(&mut self) {
        self.before.clear();
    }

    /// The side information after the last field.
    pub(super) const fn side_info(&self) -> &SideInfo {
        &self.side_info
    }

    /// Fills in `field`, and returns its bytes, in the memory of `bytes`, and what a bit was worth. It chooses again
    /// with a bit worth more as `repeats` says. If there are still more bytes than `most_bytes`, a bit is worth more in
    /// the next frame.
    pub(super) fn choose_within(
        &mut self,
        (most_bytes, repeats): (usize, Repeats),
        inputs: Inputs<'_>,
        threads: &Threads,
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> (Vec<u8>, u32) {
        let mut chosen = self.choose(inputs, threads, most_bytes, field, bytes);
        for _ in 0..repeats.most {
            if chosen.0.len() <= repeats.above_bytes {
                break;
            }
            chosen = self.choose(inputs, threads, most_bytes, field, chosen.0);
        }
        chosen
    }

    /// Fills in `field`, and returns its bytes, in the memory of `bytes`, and what a bit was worth. If there are more
    /// bytes than `most_bytes`, a bit is worth more in the next choice.
    fn choose(
        &mut self,
        inputs: Inputs<'_>,
        threads: &Threads,
        most_bytes: usize,
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> (Vec<u8>, u32) {
        let Self { side_info, prices, worth, before, rows, above } = self;
        if before.len() != field.blocks.len() {
            before.clear();
            before.resize(field.blocks.len(), Vector::ZERO);
            side_info.reset(field);
            prices.reset(side_info);
        }
        let Field { across, down, blocks, sources, last, .. } = &mut *field;
        rows.resize_with(*down, Progress::default);
        rows.iter_mut().for_each(Progress::clear);
        above.resize(*down, Vec::new());
        let lambda = inputs.lambda * *worth / WORTH_UNIT;
        // In order: a row waits for rows before it alone.
        let all = blocks.chunks_mut(*across).zip(above).enumerate();
        parallel::for_each(threads, all, |(y, (out, above))| {
            let _end = End(&rows[y]);
            above.clear();
            let row = Row { inputs, lambda, prices, sources, last, before, rows, y };
            // A row that cannot go on, because a panic left the row above it, ends too. The panic goes on to the
            // caller.
            let _ = with_instructions!(|all| row.choose(all, out, above));
        });
        before.iter_mut().zip(&field.blocks).for_each(|(before, block)| {
            *before = block.vector(0).unwrap_or_default();
        });
        let bytes = side_info.encode(field, bytes);
        prices.reset(side_info);
        if bytes.len() > most_bytes {
            let times = u32::try_from(bytes.len() / most_bytes.max(1)).unwrap_or(u32::MAX).min(MOST_RAISE);
            let raised = (*worth * times).max(*worth * RAISE_RATIO[0] / RAISE_RATIO[1]);
            *worth = raised.min(MOST_WORTH * WORTH_UNIT);
        } else if bytes.len() < most_bytes * LOWER_BELOW[0] / LOWER_BELOW[1] {
            *worth = (*worth * LOWER_RATIO[0] / LOWER_RATIO[1]).max(WORTH_UNIT);
        }
        (bytes, lambda)
    }
}

/// A row of blocks.
struct Row<'a> {
    inputs: Inputs<'a>,
    /// As in [`Inputs`], with the frame's worth of a bit.
    lambda: u32,
    prices: &'a Prices,
    sources: &'a [Source],
    last: &'a [Option<Vector>],
    before: &'a [Vector],
    rows: &'a [Progress],
    y: usize,
}

impl Row<'_> {
    #[inline(always)]
    fn choose(&self, instructions: impl Differences, out: &mut [Block], above: &mut Vec<Decided>) -> Option<()> {
        let across = out.len();
        let mut notes = [Note::default(); STEP_BLOCKS + 1];
        for first in (0..across).step_by(STEP_BLOCKS) {
            let end = (first + STEP_BLOCKS).min(across);
            if let Some(above_this) = self.y.checked_sub(1) {
                self.rows[above_this].wait((end + 1).min(across), above)?;
            }
            notes[0] = notes[STEP_BLOCKS];
            let mut decided = [(Block::Constant(0), Note::default()); STEP_BLOCKS];
            for (at, x) in (first..end).enumerate() {
                let left = x.checked_sub(1).map(|left| (out[left], notes[at]));
                decided[at] = self.best(instructions, left, above, x, across);
                (out[x], notes[at + 1]) = decided[at];
            }
            self.rows[self.y].add(&decided[..end - first]);
        }
        Some(())
    }

    #[inline(always)]
    fn best(
        &self,
        instructions: impl Differences,
        left: Option<Decided>,
        above: &[Decided],
        x: usize,
        across: usize,
    ) -> Decided {
        let Self { inputs: Inputs { lambda, blocks, quarters, rough, first }, prices, y, .. } = *self;
        let number = y * across + x;
        let source = self.sources[number];
        let corner = [x, y].map(|at| at * BLOCK_SIDE);
        let own = blocks.square::<BLOCK_SIDE>(corner);
        if source == Source::Constant {
            return (Block::Constant(flat(&own).0), Note::default());
        }
        let upper = above.get(x);
        let mut near = Context::of([left.map(|(_, note)| note), upper.map(|(_, note)| *note)]);
        // As in `SideInfo::near`.
        let aside = if x + 1 < across { above.get(x + 1).map(|aside| (aside, 2)) } else { None };
        let aside = aside.or_else(|| x.checked_sub(1).and_then(|x| above.get(x)).map(|aside| (aside, 3)));
        let beside = [
            left.and_then(|(block, _)| block.vector(1)),
            upper.and_then(|(block, _)| block.vector(2)),
            aside.and_then(|((block, _), partition)| block.vector(partition)),
        ];
        let candidates = Candidates::of(beside, near_in_last(self.last, number, across));
        near.others = candidates.others();
        let candidates = candidates.as_slice();
        let quarters = quarters.of(source);
        let compare = |vector| quarters.of_block(instructions, &own, corner, vector);
        let mut trial = Trial::new(compare, lambda, candidates[0]);
        let enough = lambda * ENOUGH_BITS / 16;
        let mut best = Decision { block: Block::Constant(0), note: Note::default(), cost: u32::MAX };
        let mut is_good = false;
        for (index, vector) in candidates.iter().enumerate() {
            let price = lambda * cost::of_difference(*vector, candidates[0]) / 16;
            let difference = trial.consider(*vector, price);
            let cost = difference + self.worth(prices.of_merge(near, index));
            if cost < best.cost {
                is_good = difference <= enough;
                best = Decision { block: Block::whole(*vector), note: Note::new(true, false, 0), cost };
            }
        }
        if is_good {
            return (best.block, best.note);
        }
        match first.map(|first| first.blocks[number]) {
            Some(Block::Moved(vectors)) => trial.consider_starts(&vectors),
            Some(Block::Bipredicted([vector, _])) => trial.consider_starts(&[vector]),
            // A constant costs few bits, which says nothing of where a faster rendition finds the block.
            Some(Block::Constant(_)) | None => {
                trial.consider_starts(&[self.before[number], rough[number].vector]);
                trial.descend_whole();
            }
        }
        trial.descend_parts();
        let Best { vector, difference, .. } = trial.best;
        let own_difference = vector.minus(candidates[0]);
        best.consider(Decision {
            block: Block::whole(vector),
            note: Note::new(false, false, own_difference.length()),
            cost: difference + self.worth(prices.of_whole(near, own_difference)),
        });
        if difference > lambda * SPLIT_BITS / 16 {
            best.consider(self.split(&trial, near));
        }
        if best.cost > CONSTANT_LOSS {
            let (level, difference) = flat(&own);
            let cost = difference + CONSTANT_LOSS + self.worth(prices.of_constant(near));
            best.consider(Decision { block: Block::Constant(level), note: Note::default(), cost });
        }
        (best.block, best.note)
    }

    /// Returns the difference that these parts of bits are worth.
    #[inline(always)]
    const fn worth(&self, parts: u32) -> u32 {
        self.lambda * parts / (16 * COST_PER_BIT)
    }

    /// Returns the block in which each partition has the best of the tried vectors.
    #[inline(always)]
    fn split<F>(&self, trial: &Trial<F>, near: Context) -> Decision {
        let mut before = trial.predicted;
        let mut sum = self.worth(self.prices.of_split(near));
        let mut vectors = [before; 4];
        let mut activity = 0;
        for (partition, out) in vectors.iter_mut().enumerate() {
            let mut best = (u32::MAX, before);
            for (vector, sums) in &trial.tried[..trial.count] {
                let difference = sums[partition];
                if difference >= best.0 {
                    continue;
                }
                let cost = difference + self.worth(self.prices.of_partition(near, partition, vector.minus(before)));
                if cost < best.0 {
                    best = (cost, *vector);
                }
            }
            sum += best.0;
            activity = activity.max(best.1.minus(before).length());
            before = best.1;
            *out = before;
        }
        let block = Block::Moved(vectors);
        let cost = if block.one_vector().is_some() { u32::MAX } else { sum };
        Decision { block, note: Note::new(false, true, activity), cost }
    }
}

/// A block, what it means for its neighbours, and its cost: difference and bits.
struct Decision {
    block: Block,
    note: Note,
    cost: u32,
}

impl Decision {
    /// Sets it to `other` if that costs less.
    #[inline(always)]
    fn consider(&mut self, other: Self) {
        if other.cost < self.cost {
            *self = other;
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

    /// Tries a vector whose bits are worth this much, and returns its difference.
    #[inline(always)]
    fn consider(&mut self, vector: Vector, price: u32) -> u32 {
        let sums = (self.compare)(vector);
        let difference = sums.iter().sum();
        let cost = difference + price;
        if let Some(tried) = self.tried.get_mut(self.count) {
            *tried = (vector, sums);
            self.count += 1;
        }
        if cost < self.best.cost {
            self.best = Best { vector, cost, difference };
        }
        difference
    }

    #[inline(always)]
    fn was_tried(&self, vector: Vector) -> bool {
        self.tried[..self.count].iter().any(|tried| tried.0 == vector)
    }

    /// Tries a vector of the block's own, unless its bits alone cost too much. Returns its cost, or that of its bits.
    #[inline(always)]
    fn consider_new(&mut self, vector: Vector) -> u32 {
        let price = self.lambda * cost::of_difference(vector, self.predicted) / 16;
        if price >= self.best.cost {
            return price;
        }
        self.consider(vector, price) + price
    }

    /// Tries those of these vectors that are new.
    #[inline(always)]
    fn consider_starts(&mut self, starts: &[Vector]) {
        for start in starts {
            if !self.was_tried(*start) {
                self.consider_new(*start);
            }
        }
    }

    /// Searches from the best vector on by whole samples.
    #[inline(always)]
    fn descend_whole(&mut self) {
        let mut before = self.best.vector;
        for _ in 0..MAX_STEPS {
            let from = self.best.vector;
            for (x, y) in [(4, 0), (-4, 0), (0, 4), (0, -4)] {
                let vector = from.plus(Vector { x, y });
                if vector != before {
                    self.consider_new(vector);
                }
            }
            if self.best.vector == from {
                break;
            }
            before = from;
        }
    }

    /// Searches from the best vector on by halves of a sample, then quarters.
    #[inline(always)]
    fn descend_parts(&mut self) {
        for reach in [2, 1] {
            let from = self.best.vector;
            let [left, right, up, down] = [(-reach, 0), (reach, 0), (0, -reach), (0, reach)]
                .map(|(x, y)| self.consider_new(from.plus(Vector { x, y })));
            let x = if left < right { -reach } else { reach };
            let y = if up < down { -reach } else { reach };
            self.consider_new(from.plus(Vector { x, y }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};

    use super::*;

    /// Each row needs all blocks of the row above it; the one in the middle panics.
    #[test]
    fn a_row_that_panics_ends_the_rows_that_wait_for_it() {
        const BLOCKS: usize = 3;
        let threads = Threads::new(4);
        for _ in 0..20 {
            let rows: Vec<Progress> = (0..9).map(|_| Progress::default()).collect();
            let finished = Mutex::new(Vec::new());
            let work = |y: usize| {
                let _end = End(&rows[y]);
                let above = y.checked_sub(1).map_or(Some(()), |above| rows[above].wait(BLOCKS, &mut Vec::new()));
                assert!(y != 4, "row four");
                if above.is_some() {
                    rows[y].add(&[(Block::Constant(0), Note::default()); BLOCKS]);
                    finished.lock().unwrap_or_else(PoisonError::into_inner).push(y);
                }
            };
            let all = AssertUnwindSafe(|| parallel::for_each(&threads, 0..rows.len(), work));
            let panic = panic::catch_unwind(all).expect_err("a row panicked");
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"row four"));
            assert!(finished.into_inner().is_ok_and(|rows| rows.iter().all(|y| *y < 4)));
        }
    }

    #[test]
    fn rows_begin_again_after_a_panic() {
        let mut row = Progress::default();
        drop(End(&row));
        assert_eq!(row.wait(1, &mut Vec::new()), None);
        row.clear();
        row.add(&[(Block::Constant(7), Note::default())]);
        let mut known = Vec::new();
        assert_eq!(row.wait(1, &mut known), Some(()));
        assert_eq!(known[0].0, Block::Constant(7));
    }
}
