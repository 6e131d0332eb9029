//! What a block's motion costs by the probabilities after the last frame, as tables: the same for all blocks of a
//! frame, whatever their order.

use crate::motion::search::cost::Cost;
use crate::motion::side_info::{self, MAX_OTHERS, MERGE_CANDIDATES, Note, SideInfo, last_candidate};
use crate::motion::vector::Vector;

/// The prices of one frame, in 1/256 of a bit.
#[derive(Debug, Default)]
pub(super) struct Prices {
    /// Of copying a candidate, by number of other ones and of neighbours that copy theirs.
    merge: [[[u32; MERGE_CANDIDATES]; 3]; MAX_OTHERS + 1],
    /// Of a constant in a block that could move, in the same way.
    constant: [[u32; 3]; MAX_OTHERS + 1],
    /// Of one vector, before its difference: in the same way, and by number of neighbours that are split.
    whole: [[[u32; 3]; 3]; MAX_OTHERS + 1],
    /// The same of four vectors.
    split: [[[u32; 3]; 3]; MAX_OTHERS + 1],
    /// Whether a partition's vector is that of the partition before: first the price if it is not.
    same: [[u32; 2]; 3],
    /// Of a component: of whole blocks or partitions, x or y, by activity and by bits of its magnitude.
    components: [[[u32; MAGNITUDE_LENGTHS]; 3]; 4],
}

/// Numbers of bits of a magnitude: none to 15.
const MAGNITUDE_LENGTHS: usize = 16;

/// The neighbourhood of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// Candidates besides the prediction and the zero vector.
    pub(super) others: usize,
    merged: usize,
    split: usize,
    activity: usize,
}

impl Context {
    /// Makes it from what is known of the blocks to the left and above.
    pub(super) fn of(near: [Option<Note>; 2]) -> Self {
        let sum = |of: fn(Note) -> u32| near.into_iter().flatten().map(of).sum::<u32>();
        Self {
            others: 0,
            merged: sum(|note| u32::from(note.merged)) as usize,
            split: sum(|note| u32::from(note.split)) as usize,
            activity: side_info::activity(sum(|note| note.activity)),
        }
    }
}

impl Prices {
    /// Sets the prices to those after the field that `side_info` coded last.
    pub(super) fn reset(&mut self, side_info: &mut SideInfo) {
        let price = |code: &mut dyn FnMut(&mut Cost)| {
            let mut cost = Cost::default();
            code(&mut cost);
            cost.0
        };
        for near in 0..3 {
            for others in 0..=MAX_OTHERS {
                for index in 0..=last_candidate(others) {
                    self.merge[others][near][index] =
                        price(&mut |cost| side_info.price_of_merge(cost, [others, near], Some(index)));
                }
                let other = price(&mut |cost| side_info.price_of_merge(cost, [others, near], None));
                self.constant[others][near] = other + price(&mut |cost| side_info.price_of_constant(cost, true));
                let moved = other + price(&mut |cost| side_info.price_of_constant(cost, false));
                for split in 0..3 {
                    let of = |side_info: &mut SideInfo, is_split: bool| {
                        moved + price(&mut |cost| side_info.price_of_split(cost, split, is_split))
                    };
                    self.whole[others][near][split] = of(side_info, false);
                    self.split[others][near][split] = of(side_info, true);
                }
            }
            for is_same in [false, true] {
                self.same[near][usize::from(is_same)] = price(&mut |cost| side_info.price_of_same(cost, near, is_same));
            }
            for (row, prices) in self.components.iter_mut().enumerate() {
                for (length, out) in prices[near].iter_mut().enumerate() {
                    let value = if length == 0 { 0 } else { 1 << (length - 1) };
                    *out = price(&mut |cost| side_info.price_of_number(cost, row, near, value));
                }
            }
        }
    }

    #[inline(always)]
    pub(super) const fn of_merge(&self, near: Context, index: usize) -> u32 {
        self.merge[near.others][near.merged][index]
    }

    #[inline(always)]
    pub(super) const fn of_constant(&self, near: Context) -> u32 {
        self.constant[near.others][near.merged]
    }

    #[inline(always)]
    pub(super) fn of_whole(&self, near: Context, difference: Vector) -> u32 {
        self.whole[near.others][near.merged][near.split] + self.of_vector(0, near, difference)
    }

    #[inline(always)]
    pub(super) const fn of_split(&self, near: Context) -> u32 {
        self.split[near.others][near.merged][near.split]
    }

    /// Returns the price of a partition's vector, which differs by this from the one before.
    #[inline(always)]
    pub(super) fn of_partition(&self, near: Context, partition: usize, difference: Vector) -> u32 {
        let same = difference == Vector::ZERO;
        let flag = partition.checked_sub(1).map_or(0, |partition| self.same[partition][usize::from(same)]);
        flag + if same && partition > 0 { 0 } else { self.of_vector(2, near, difference) }
    }

    #[inline(always)]
    fn of_vector(&self, row: usize, near: Context, difference: Vector) -> u32 {
        let bits = |part: i16| (16 - part.unsigned_abs().min(0x7FFF).leading_zeros()) as usize;
        self.components[row][near.activity][bits(difference.x)]
            + self.components[row + 1][near.activity][bits(difference.y)]
    }
}
