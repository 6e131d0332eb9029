//! The motion of a frame: its blocks of 16 x 16 luma samples in order, each of four partitions of 8 x 8 (spec,
//! "Motion").

use std::ops::Range;

use crate::motion::vector::Vector;
use crate::picture::Size;

/// The side of a block in luma samples.
pub(crate) const BLOCK_SIDE: usize = 16;
/// The side of a partition in luma samples.
pub(crate) const PARTITION_SIDE: usize = BLOCK_SIDE / 2;
/// The number of levels of a constant prediction.
pub(crate) const CONSTANT_LEVELS: u8 = 64;

/// The references from which a block may be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The enhancement reference, or a constant.
    EnhancementReference,
    /// The base-layer reference, or a constant: the block is being refreshed.
    BaseReference,
    /// A constant alone.
    Constant,
}

/// The prediction of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// The partitions at the top left, top right, bottom left and bottom right move by these vectors.
    Moved([Vector; 4]),
    /// The mean of two predictions: by the first vector from the last picture, by the second from the picture before
    /// it.
    Bipredicted([Vector; 2]),
    /// Luma has this level, 0..[`CONSTANT_LEVELS`], in steps of four samples; chroma is 128.
    Constant(u8),
}

impl Block {
    /// Returns the block whose four partitions move alike.
    pub(crate) const fn whole(vector: Vector) -> Self {
        Self::Moved([vector; 4])
    }

    /// Returns the vector of all four partitions, if they share one and it is the only vector.
    pub(crate) fn one_vector(&self) -> Option<Vector> {
        match self {
            Self::Moved([first, rest @ ..]) if rest.iter().all(|vector| vector == first) => Some(*first),
            _ => None,
        }
    }

    /// As [`Block::one_vector`], or the first vector of a bi-predicted block.
    pub(crate) fn whole_vector(&self) -> Option<Vector> {
        if let Self::Bipredicted([first, _]) = self { Some(*first) } else { self.one_vector() }
    }

    /// Returns the vector of a partition into the last picture; partitions are numbered as in [`Block::Moved`].
    pub(crate) const fn vector(&self, partition: usize) -> Option<Vector> {
        match self {
            Self::Moved(vectors) => Some(vectors[partition]),
            Self::Bipredicted([first, _]) => Some(*first),
            Self::Constant(_) => None,
        }
    }
}

/// A frame's place in the refresh cycle, as its head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    /// 0..[`CONSTANT_CYCLE`].
    pub(crate) phase: u8,
    /// Whether some of the refreshed blocks are predicted from nothing.
    pub(crate) renews: bool,
}

/// All blocks of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub(crate) across: usize,
    pub(crate) down: usize,
    /// Row by row.
    pub(crate) blocks: Vec<Block>,
    /// The reference from which each block may be predicted.
    pub(crate) sources: Vec<Source>,
    /// Whether blocks may be bi-predicted.
    pub(crate) bipredicts: bool,
    /// Whether some blocks are predicted from nothing.
    pub(crate) renews: bool,
    /// The blocks that were not predicted from the enhancement reference in the frame before.
    refreshed: Vec<bool>,
    /// The vectors of the last frame that blocks can copy, by block; empty if there are none.
    pub(crate) last: Vec<Option<Vector>>,
}

impl Field {
    /// Copies `other`, in the same memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        (self.across, self.down) = (other.across, other.down);
        self.blocks.clone_from(&other.blocks);
        self.sources.clone_from(&other.sources);
        (self.bipredicts, self.renews) = (other.bipredicts, other.renews);
        self.refreshed.clone_from(&other.refreshed);
        self.last.clone_from(&other.last);
    }

    /// Returns whether block `at` may be bi-predicted. A block that was refreshed in the frame before may not: it would
    /// bring back errors that a receiver had until then.
    pub(crate) fn may_bipredict(&self, at: usize) -> bool {
        self.bipredicts && !self.refreshed[at]
    }

    /// Returns the number of blocks across and down.
    pub(crate) const fn grid(size: Size) -> [usize; 2] {
        [size.width().div_ceil(BLOCK_SIDE), size.height().div_ceil(BLOCK_SIDE)]
    }

    /// Begins a frame of this size with constant blocks, none of which may be bi-predicted. They can copy the vectors
    /// `last`, one or none for each block; those of another number of blocks are ignored.
    pub(crate) fn reset(&mut self, size: Size, turn: Turn, last: &[Option<Vector>]) {
        [self.across, self.down] = Self::grid(size);
        let count = self.across * self.down;
        self.blocks.clear();
        self.blocks.resize(count, Block::Constant(CONSTANT_LEVELS / 2));
        self.sources.clear();
        self.sources.resize(count, Source::EnhancementReference);
        (self.bipredicts, self.renews) = (false, turn.renews);
        self.refreshed.clear();
        self.refreshed.resize(count, false);
        let phase = usize::from(turn.phase);
        self.refreshed[Self::refreshed(count, phase + REFRESH_CYCLE_FRAMES - 1)].fill(true);
        self.sources[Self::refreshed(count, phase)].fill(Source::BaseReference);
        self.sources[Self::renewed(count, turn)].fill(Source::Constant);
        self.last.clear();
        if last.len() == count {
            self.last.extend_from_slice(last);
        }
    }

    /// Returns which of `count` blocks are predicted from the base-layer reference in a frame of this phase: each once
    /// in [`REFRESH_CYCLE_FRAMES`] phases. A frame that renews predicts some of them from nothing instead.
    pub(crate) const fn refreshed(count: usize, phase: usize) -> Range<usize> {
        part(count, phase, REFRESH_CYCLE_FRAMES)
    }

    /// Returns which of `count` blocks are predicted from nothing: a part of the refreshed ones if the frame renews, so
    /// that each is renewed once in [`CONSTANT_CYCLE`] phases; otherwise none.
    pub(crate) fn renewed(count: usize, Turn { phase, renews }: Turn) -> Range<usize> {
        const RENEWED_PARTS: usize = CONSTANT_CYCLE / REFRESH_CYCLE_FRAMES;
        if !renews {
            return 0..0;
        }
        let phase = usize::from(phase);
        let refreshed = Self::refreshed(count, phase);
        let renewed = part(refreshed.len(), phase / REFRESH_CYCLE_FRAMES, RENEWED_PARTS);
        refreshed.start + renewed.start..refreshed.start + renewed.end
    }

    /// Sets all blocks of frame `phase` to stand where they are.
    pub(crate) fn stand(&mut self, size: Size, phase: u8) {
        self.reset(size, Turn { phase, renews: false }, &[]);
        self.blocks.fill(Block::whole(Vector::ZERO));
    }
}

/// Returns the vectors of the last frame that a block can copy: of the block at the same place, of that to the right and
/// that below. `last`: those of all blocks, or none.
pub(crate) fn near_in_last(last: &[Option<Vector>], at: usize, across: usize) -> [Option<Vector>; 3] {
    let right = (at % across + 1 < across).then_some(at + 1);
    [Some(at), right, Some(at + across)].map(|at| *last.get(at?)?)
}

/// Returns the samples of row `y` of a plane of this width that lie in some of the blocks of a grid of `across` a row.
pub(crate) fn columns(blocks: &Range<usize>, across: usize, plane: usize, y: usize, width: usize) -> Range<usize> {
    let side = if plane == 0 { BLOCK_SIDE } else { PARTITION_SIDE };
    let first = y / side * across;
    let own = blocks.start.max(first)..blocks.end.min(first + across);
    if own.is_empty() { 0..0 } else { (own.start - first) * side..((own.end - first) * side).min(width) }
}

/// Returns which of `count` blocks have their turn in a phase of a cycle.
const fn part(count: usize, phase: usize, cycle: usize) -> Range<usize> {
    let turn = phase % cycle;
    count * turn / cycle..count * (turn + 1) / cycle
}

/// The number of frames in which every block is once not predicted from the enhancement reference.
pub(crate) const REFRESH_CYCLE_FRAMES: usize = 8;
/// The number of frames in which every block is predicted once from nothing, if all of them renew.
pub(crate) const CONSTANT_CYCLE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_copies_from_its_own_place_the_right_and_below_where_these_are() {
        let last: Vec<_> = (0..6).map(|at| (at != 4).then_some(Vector { x: at, y: 0 })).collect();
        let near = |at| near_in_last(&last, at, 3).map(|vector| vector.map(|vector| vector.x));
        assert_eq!(near(0), [Some(0), Some(1), Some(3)]);
        assert_eq!(near(1), [Some(1), Some(2), None], "the block below is constant");
        assert_eq!(near(2), [Some(2), None, Some(5)]);
        assert_eq!(near(5), [Some(5), None, None]);
        assert_eq!(near_in_last(&[], 1, 3), [None; 3]);
    }

    #[test]
    fn what_was_refreshed_in_the_frame_before_may_not_be_bipredicted() {
        let size = Size::new(640, 360).expect("a valid size");
        let mut before = Field::default();
        let mut field = Field::default();
        for phase in 0..128 {
            before.reset(size, Turn { phase: (phase + 127) % 128, renews: phase % 2 == 0 }, &[]);
            field.reset(size, Turn { phase, renews: phase % 3 == 0 }, &[]);
            field.bipredicts = true;
            for (at, source) in before.sources.iter().enumerate() {
                assert_eq!(
                    field.may_bipredict(at),
                    *source == Source::EnhancementReference,
                    "block {at} of phase {phase}"
                );
            }
        }
    }

    #[test]
    fn every_block_leaves_the_enhanced_picture_once_a_cycle_and_if_frames_renew_all_references_once_a_long_one() {
        for ((width, height), renews) in
            [(1, 1), (100, 60), (640, 360)].into_iter().flat_map(|size| [(size, false), (size, true)])
        {
            let size = Size::new(width, height).expect("a valid size");
            let mut field = Field::default();
            let mut constants = vec![0; Field::grid(size).iter().product()];
            for cycle in 0..16 {
                let mut refreshed = vec![0; constants.len()];
                for phase in 0..8 {
                    field.reset(size, Turn { phase: cycle * 8 + phase, renews }, &[]);
                    for (at, source) in field.sources.iter().enumerate() {
                        refreshed[at] += u32::from(*source != Source::EnhancementReference);
                        constants[at] += u32::from(*source == Source::Constant);
                    }
                }
                assert!(refreshed.iter().all(|count| *count == 1));
            }
            assert!(constants.iter().all(|count| *count == u32::from(renews)));
        }
    }
}
