//! A frame's motion as bits (spec, "Side information"): both sides share one traversal.
//!
//! Prior art: vectors predicted by the median of three neighbours (Recommendation ITU-T H.264, section 8.4.1.3), and a
//! list of neighbours whose motion a block can copy (merge mode of H.265, section 8.5.3.2.2).

use crate::entropy::probability::{Probability, RATE_OF_MOTION};
use crate::entropy::range_coder::{Coder, RangeDecoder, RangeEncoder, ZERO_PADDING};
use crate::error::Error;
use crate::motion::field::{Block, Field, Source, Turn, near_in_last};
use crate::motion::vector::Vector;
use crate::picture::Size;

/// The vectors that a block can copy.
pub(crate) const MERGE_CANDIDATES: usize = 8;
/// Bits of a constant's level.
const LEVEL_BITS: u32 = 6;

/// The most vectors in a list, besides the prediction and the zero vector, that contexts tell apart.
pub(crate) const MAX_OTHERS: usize = 3;
/// By number of such vectors, and of neighbours that copy their vector.
const MERGE_CONTEXT: usize = 0;
/// By number of such vectors, and of vectors passed over.
const CANDIDATE_CONTEXT: usize = MERGE_CONTEXT + 3 * (MAX_OTHERS + 1);
/// The first context of each number of such vectors: each vector more needs one context more.
const CANDIDATES_OF_OTHERS: [usize; MAX_OTHERS + 1] = [0, 1, 3, 6];
const CONSTANT_CONTEXT: usize = CANDIDATE_CONTEXT + CANDIDATES_OF_OTHERS[MAX_OTHERS] + MERGE_CANDIDATES - 1;
/// By number of neighbours that are split.
const SPLIT_CONTEXT: usize = CONSTANT_CONTEXT + 1;
/// Whether a partition's vector is that of the partition before.
const SAME_CONTEXT: usize = SPLIT_CONTEXT + 3;
/// By component of whole blocks and of partitions, and activity.
const ZERO_CONTEXT: usize = SAME_CONTEXT + 3;
/// By component, activity and length so far.
const LENGTH_CONTEXT: usize = ZERO_CONTEXT + 4 * 3;
const MAX_LENGTH: usize = 15;
/// Bits that are as often zero as one.
const EVEN_CONTEXT: usize = LENGTH_CONTEXT + 2 * 3 * MAX_LENGTH;
/// By number of neighbours that are bi-predicted.
const BIPREDICTED_CONTEXT: usize = EVEN_CONTEXT + 1;
/// A second vector's difference: by component; then by component and length so far.
const SECOND_ZERO: usize = BIPREDICTED_CONTEXT + 3;
const SECOND_LENGTH: usize = SECOND_ZERO + 2;
const SIDE_INFO_CONTEXTS: usize = SECOND_LENGTH + 2 * MAX_LENGTH;

/// The probability of a one in each context at the start of a frame, in 1/256: found on the training clips
/// (`models/train/nestcast_train/frames/video_tables.py`).
#[rustfmt::skip]
const CONTEXT_PRIORS: [u8; SIDE_INFO_CONTEXTS] = [
    224, 245, 247, // MERGE
    186, 223, 239,
    168, 209, 232,
    132, 182, 216,
    67, // CANDIDATE
    47, 56,
    92, 90, 70,
    145, 123, 150, 118, 103, 105, 63,
    12, // CONSTANT
    28, 115, 142, // SPLIT
    92, 60, 78, // SAME
    68, 44, 31, // ZERO
    74, 53, 38,
    79, 67, 51,
    94, 79, 60,
    133, 157, 153, 124, 89, 42, 16, 35, 32, 32, 32, 32, 32, 32, 32, // LENGTH
    166, 158, 130, 99, 72, 48, 60, 30, 32, 32, 32, 32, 32, 32, 32,
    203, 203, 186, 152, 95, 53, 39, 13, 32, 32, 32, 32, 32, 32, 32,
    135, 154, 138, 114, 75, 47, 56, 15, 32, 32, 32, 32, 32, 32, 32,
    158, 155, 123, 90, 62, 57, 36, 57, 32, 32, 32, 32, 32, 32, 32,
    199, 203, 176, 138, 90, 72, 35, 13, 32, 32, 32, 32, 32, 32, 32,
    128, // EVEN
    20, 95, 185, // BIPREDICTED
    203, 208, // SECOND_ZERO
    124, 89, 65, 16, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, // SECOND_LENGTH
    125, 81, 68, 16, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
];

/// The same in 1/65536.
pub(crate) fn priors() -> impl Iterator<Item = u16> {
    CONTEXT_PRIORS.into_iter().map(|prior| u16::from(prior) << 8)
}

/// The coded facts about a block besides its motion.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Note {
    pub(crate) merged: bool,
    pub(crate) split: bool,
    bipredicted: bool,
    /// The length of the longest coded difference.
    pub(crate) activity: u32,
}

impl Note {
    /// The note of a block that is not bi-predicted.
    pub(crate) const fn new(merged: bool, split: bool, activity: u32) -> Self {
        Self { merged, split, bipredicted: false, activity }
    }
}

/// Returns the index of the last candidate in the longest list with this number of others.
pub(crate) const fn last_candidate(others: usize) -> usize {
    if others < MAX_OTHERS { others + 1 } else { MERGE_CANDIDATES - 1 }
}

/// Returns the context of vectors, by the sum of the activities to the left and above.
pub(crate) const fn activity(sum: u32) -> usize {
    match sum {
        0..4 => 0,
        4..20 => 1,
        _ => 2,
    }
}

/// Codes fields block by block.
#[derive(Debug, Default)]
pub(crate) struct SideInfo {
    probabilities: Vec<Probability>,
    notes: Vec<Note>,
    /// Memory of the frame before.
    decoder: RangeDecoder,
}

impl SideInfo {
    /// Begins a frame with the blocks of `field`.
    pub(crate) fn reset(&mut self, field: &Field) {
        self.probabilities.clear();
        self.probabilities.extend(priors().map(Probability::new));
        self.notes.clear();
        self.notes.resize(field.blocks.len(), Note::default());
    }

    /// Copies the state of `other`.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.probabilities.clone_from(&other.probabilities);
        self.notes.clone_from(&other.notes);
    }

    /// Decodes the field of a frame of this size, in which blocks may be bi-predicted or not, from all of its bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes end before the last block.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        size: Size,
        (turn, bipredicts): (Turn, bool),
        last: &[Option<Vector>],
        field: &mut Field,
    ) -> Result<(), Error> {
        field.reset(size, turn, last);
        field.bipredicts = bipredicts;
        self.reset(field);
        let mut coder = std::mem::take(&mut self.decoder);
        coder.restart();
        coder.push(bytes);
        coder.push(&ZERO_PADDING);
        let whole = (0..field.blocks.len()).all(|at| {
            let block = self.block(&mut coder, field, at, Block::Constant(0));
            block.map(|block| field.blocks[at] = block).is_some()
        });
        self.decoder = coder;
        let why = "its side information ends before its last block";
        if whole { Ok(()) } else { Err(Error::Corrupt { what: "frame", why }) }
    }

    /// Returns the bytes of a whole field, in the memory of `bytes`.
    pub(crate) fn encode(&mut self, field: &Field, bytes: Vec<u8>) -> Vec<u8> {
        self.reset(field);
        let mut coder = RangeEncoder::new();
        coder.restart(bytes, ());
        for at in 0..field.blocks.len() {
            // An encoder is never starved.
            let _ = self.block(&mut coder, field, at, field.blocks[at]);
        }
        coder.finish_before_zeros()
    }

    /// Codes block `at`; the blocks before it are in the field.
    pub(crate) fn block<C: Coder>(&mut self, coder: &mut C, field: &Field, at: usize, block: Block) -> Option<Block> {
        let near = self.near(field, at);
        self.block_near(coder, &near, block)
    }

    /// Codes the block with the surroundings `near`.
    pub(crate) fn block_near<C: Coder>(&mut self, coder: &mut C, near: &Neighbours, block: Block) -> Option<Block> {
        let (coded, note) = if near.constant {
            (self.constant(coder, block)?, Note::default())
        } else {
            let (coded, note) = self.moved(coder, near, block)?;
            match coded.one_vector() {
                Some(first) if !note.split && near.may_bipredict => {
                    self.bipredicted(coder, near, block, first, note)?
                }
                _ => (coded, note),
            }
        };
        self.notes[near.at] = note;
        Some(coded)
    }

    fn moved<C: Coder>(&mut self, coder: &mut C, near: &Neighbours, block: Block) -> Option<(Block, Note)> {
        let candidates = &near.candidates;
        let whole = block.whole_vector();
        let chosen = whole.and_then(|vector| candidates.iter().position(|other| *other == vector));
        if let Some(index) = self.merge(coder, [candidates.others(), near.merged], candidates.len() - 1, chosen)? {
            return Some((Block::whole(candidates.get(index)), Note::new(true, false, 0)));
        }
        if self.bit(coder, CONSTANT_CONTEXT, matches!(block, Block::Constant(_)))? {
            return Some((self.constant(coder, block)?, Note::default()));
        }
        let vectors = [0, 1, 2, 3].map(|partition| block.vector(partition).unwrap_or(Vector::ZERO));
        let mut before = candidates.get(0);
        let split = self.bit(coder, SPLIT_CONTEXT + near.split, whole.is_none())?;
        let mut note = Note { split, ..Note::default() };
        if !note.split {
            let vector = self.vector(coder, 0, near.activity, vectors[0], before, &mut note)?;
            return Some((Block::whole(vector), note));
        }
        let mut coded = [Vector::ZERO; 4];
        for (partition, out) in coded.iter_mut().enumerate() {
            let same = partition > 0 && self.bit(coder, SAME_CONTEXT + partition - 1, vectors[partition] == before)?;
            if !same {
                before = self.vector(coder, 2, near.activity, vectors[partition], before, &mut note)?;
            }
            *out = before;
        }
        Some((Block::Moved(coded), note))
    }

    /// Codes whether a block copies a candidate, and which; `last` is the last one's index. `near`: the numbers of the
    /// contexts.
    fn merge<C: Coder>(
        &mut self,
        coder: &mut C,
        [others, merged]: [usize; 2],
        last: usize,
        chosen: Option<usize>,
    ) -> Option<Option<usize>> {
        if !self.bit(coder, MERGE_CONTEXT + 3 * others + merged, chosen.is_some())? {
            return Some(None);
        }
        let contexts = CANDIDATE_CONTEXT + CANDIDATES_OF_OTHERS[others];
        let mut index = 0;
        while index < last && self.bit(coder, contexts + index, chosen.is_some_and(|chosen| chosen > index))? {
            index += 1;
        }
        Some(Some(index))
    }

    /// Codes whether a block that moves by one vector, `first`, has a second one, and which.
    fn bipredicted<C: Coder>(
        &mut self,
        coder: &mut C,
        near: &Neighbours,
        block: Block,
        first: Vector,
        mut note: Note,
    ) -> Option<(Block, Note)> {
        let wanted = if let Block::Bipredicted([_, second]) = block { Some(second) } else { None };
        note.bipredicted = self.bit(coder, BIPREDICTED_CONTEXT + near.bipredicted, wanted.is_some())?;
        if !note.bipredicted {
            return Some((Block::whole(first), note));
        }
        let before = near.second(first);
        let difference = wanted.unwrap_or_default().minus(before);
        let x = self.magnitude(coder, SECOND_ZERO, SECOND_LENGTH, difference.x)?;
        let y = self.magnitude(coder, SECOND_ZERO + 1, SECOND_LENGTH + MAX_LENGTH, difference.y)?;
        Some((Block::Bipredicted([first, before.plus(Vector { x, y })]), note))
    }

    /// Codes with `coder` what copying a candidate takes, or copying none. As the functions below, it is for coders
    /// that count bits and change no probability.
    pub(crate) fn price_of_merge<C: Coder>(&mut self, coder: &mut C, near: [usize; 2], chosen: Option<usize>) {
        let last = last_candidate(near[0]);
        let _ = self.merge(coder, near, last, chosen);
    }

    /// Whether a block that copies no candidate is constant, and the level of one that is.
    pub(crate) fn price_of_constant<C: Coder>(&mut self, coder: &mut C, constant: bool) {
        let _ = self.bit(coder, CONSTANT_CONTEXT, constant);
        if constant {
            let _ = self.constant(coder, Block::Constant(0));
        }
    }

    /// Whether it is split, by number of neighbours that are.
    pub(crate) fn price_of_split<C: Coder>(&mut self, coder: &mut C, near: usize, split: bool) {
        let _ = self.bit(coder, SPLIT_CONTEXT + near, split);
    }

    /// Whether the partition after this one has the same vector.
    pub(crate) fn price_of_same<C: Coder>(&mut self, coder: &mut C, partition: usize, same: bool) {
        let _ = self.bit(coder, SAME_CONTEXT + partition, same);
    }

    /// A component of a vector's difference: rows 0 and 1 of whole blocks, 2 and 3 of partitions.
    pub(crate) fn price_of_number<C: Coder>(&mut self, coder: &mut C, row: usize, activity: usize, value: i16) {
        let _ = self.number(coder, row, activity, value);
    }

    fn constant<C: Coder>(&mut self, coder: &mut C, block: Block) -> Option<Block> {
        let level = if let Block::Constant(level) = block { level } else { 0 };
        let mut coded = 0;
        for bit in (0..LEVEL_BITS).rev() {
            coded |= u8::from(self.bit(coder, EVEN_CONTEXT, level >> bit & 1 != 0)?) << bit;
        }
        Some(Block::Constant(coded))
    }

    /// Codes a vector as its difference from `before`; `row`: 0 for blocks, 2 for partitions.
    fn vector<C: Coder>(
        &mut self,
        coder: &mut C,
        row: usize,
        activity: usize,
        vector: Vector,
        before: Vector,
        note: &mut Note,
    ) -> Option<Vector> {
        let difference = vector.minus(before);
        let x = self.number(coder, row, activity, difference.x)?;
        let y = self.number(coder, row + 1, activity, difference.y)?;
        let difference = Vector { x, y };
        note.activity = note.activity.max(difference.length());
        Some(before.plus(difference))
    }

    fn number<C: Coder>(&mut self, coder: &mut C, row: usize, activity: usize, value: i16) -> Option<i16> {
        let lengths = LENGTH_CONTEXT + ((row % 2) * 3 + activity) * MAX_LENGTH;
        self.magnitude(coder, ZERO_CONTEXT + row * 3 + activity, lengths, value)
    }

    /// Codes whether the value is zero, its sign, then the magnitude as an exponential Golomb code.
    fn magnitude<C: Coder>(&mut self, coder: &mut C, zero: usize, lengths: usize, value: i16) -> Option<i16> {
        if self.bit(coder, zero, value == 0)? {
            return Some(0);
        }
        let negative = self.bit(coder, EVEN_CONTEXT, value < 0)?;
        // A magnitude of 2^15 does not fit in 15 bits, and has no use.
        let magnitude = value.unsigned_abs().clamp(1, 0x7FFF);
        let length = magnitude.ilog2() as usize;
        let mut bits = 0;
        while bits + 1 < MAX_LENGTH && self.bit(coder, lengths + bits, bits < length)? {
            bits += 1;
        }
        let mut coded = 1_i16;
        for bit in (0..bits).rev() {
            coded = coded << 1 | i16::from(self.bit(coder, EVEN_CONTEXT, magnitude >> bit & 1 != 0)?);
        }
        Some(if negative { -coded } else { coded })
    }

    fn bit<C: Coder>(&mut self, coder: &mut C, context: usize, bit: bool) -> Option<bool> {
        coder.code::<RATE_OF_MOTION>(&mut self.probabilities, context, bit)
    }

    /// Returns the known surroundings of block `at`.
    pub(crate) fn near(&self, field: &Field, at: usize) -> Neighbours {
        let x = at % field.across;
        let y = at / field.across;
        let left = (x > 0).then(|| (field.blocks[at - 1], self.notes[at - 1]));
        let above = (y > 0).then(|| (field.blocks[at - field.across], self.notes[at - field.across]));
        let sum =
            |of: &dyn Fn(Note) -> u32| left.map_or(0, |(_, note)| of(note)) + above.map_or(0, |(_, note)| of(note));
        let corner = match (x + 1 < field.across && y > 0, x > 0 && y > 0) {
            (true, _) => field.blocks[at - field.across + 1].vector(2),
            (false, true) => field.blocks[at - field.across - 1].vector(3),
            (false, false) => None,
        };
        let vectors =
            [left.and_then(|(block, _)| block.vector(1)), above.and_then(|(block, _)| block.vector(2)), corner];
        Neighbours {
            at,
            constant: field.sources[at] == Source::Constant,
            may_bipredict: field.may_bipredict(at),
            candidates: Candidates::of(vectors, near_in_last(&field.last, at, field.across)),
            merged: sum(&|note| u32::from(note.merged)) as usize,
            split: sum(&|note| u32::from(note.split)) as usize,
            bipredicted: sum(&|note| u32::from(note.bipredicted)) as usize,
            bend: left
                .and_then(|(block, _)| bend(block))
                .or(above.and_then(|(block, _)| bend(block)))
                .unwrap_or_default(),
            activity: activity(sum(&|note| note.activity)),
        }
    }
}

/// Codes a whole field with a coder that is made for `SIDE_INFO_CONTEXTS` contexts.
#[cfg(feature = "training")]
pub(crate) fn code<C: Coder>(field: &Field, coder: impl Fn(usize) -> C) -> C {
    let mut side_info = SideInfo::default();
    let mut coder = coder(SIDE_INFO_CONTEXTS);
    side_info.reset(field);
    for at in 0..field.blocks.len() {
        // Only a decoder is starved.
        let _ = side_info.block(&mut coder, field, at, field.blocks[at]);
    }
    coder
}

/// The known facts about a block before it is coded, and about its neighbours.
pub(crate) struct Neighbours {
    pub(crate) at: usize,
    /// Whether it is predicted from no picture.
    constant: bool,
    pub(crate) may_bipredict: bool,
    /// The vectors that the block can copy.
    pub(crate) candidates: Candidates,
    merged: usize,
    split: usize,
    bipredicted: usize,
    /// The difference of a neighbour's second vector from twice its first.
    bend: Vector,
    activity: usize,
}

/// The difference of a block's second vector from twice its first.
fn bend(block: Block) -> Option<Vector> {
    if let Block::Bipredicted([first, second]) = block { Some(second.minus(first.plus(first))) } else { None }
}

impl Neighbours {
    /// The prediction of a second vector: motion goes on at the same speed, or changes as in the adjacent block.
    pub(crate) const fn second(&self, first: Vector) -> Vector {
        first.plus(first).plus(self.bend)
    }
}

/// Vectors; others are coded against the first one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    vectors: [Vector; MERGE_CANDIDATES],
    count: usize,
}

impl Candidates {
    /// Makes them from the vectors of the partitions to the left, above, and above to the right or else to the left, and
    /// from those of the last frame.
    pub(crate) fn of(vectors: [Option<Vector>; 3], last: [Option<Vector>; 3]) -> Self {
        let mut known = vectors.into_iter().flatten();
        let predicted = match (known.next(), known.next(), known.next()) {
            (Some(a), Some(b), Some(c)) => Vector::median(a, b, c),
            (first, ..) => first.unwrap_or_default(),
        };
        let mut all = Self { vectors: [predicted; MERGE_CANDIDATES], count: 1 };
        for vector in vectors.into_iter().chain(last).flatten().chain([Vector::ZERO]) {
            if !all.as_slice().contains(&vector) {
                all.vectors[all.count] = vector;
                all.count += 1;
            }
        }
        all
    }

    pub(crate) fn as_slice(&self) -> &[Vector] {
        &self.vectors[..self.count]
    }

    fn iter(&self) -> std::slice::Iter<'_, Vector> {
        self.as_slice().iter()
    }

    /// Returns how many there are besides the prediction and the zero vector, up to [`MAX_OTHERS`].
    pub(crate) fn others(&self) -> usize {
        let zero = usize::from(self.vectors[0] != Vector::ZERO);
        (self.count - 1 - zero).min(MAX_OTHERS)
    }

    const fn len(&self) -> usize {
        self.count
    }

    fn get(&self, at: usize) -> Vector {
        self.vectors[at]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block() -> impl Strategy<Value = Block> {
        let vector = || (-40..40_i16, -40..40_i16).prop_map(|(x, y)| Vector { x, y });
        let far = any::<(i16, i16)>().prop_map(|(x, y)| Vector { x: x / 4, y: y / 4 });
        prop_oneof![
            (0..64_u8).prop_map(Block::Constant),
            prop::array::uniform4(vector()).prop_map(Block::Moved),
            [vector(), vector()].prop_map(Block::Bipredicted),
            vector().prop_map(Block::whole),
            Just(Block::whole(Vector::ZERO)),
            far.prop_map(Block::whole),
        ]
    }

    fn encode(field: &mut Field) -> Vec<u8> {
        let mut side_info = SideInfo::default();
        let mut coder = RangeEncoder::new();
        side_info.reset(field);
        for at in 0..field.blocks.len() {
            field.blocks[at] = side_info.block(&mut coder, field, at, field.blocks[at]).expect("an encoder goes on");
        }
        coder.finish_before_zeros()
    }

    #[test]
    fn a_large_still_field_is_read_though_its_side_information_ends_in_more_zeros_than_stand_behind_it() {
        let size = Size::new(8192, 8192).expect("a valid size");
        for turn in [(0, true), (1, false), (64, true)].map(|(phase, renews)| Turn { phase, renews }) {
            let mut field = Field::default();
            field.reset(size, turn, &[]);
            for (block, source) in field.blocks.iter_mut().zip(&field.sources) {
                *block = if *source == Source::Constant { Block::Constant(9) } else { Block::whole(Vector::ZERO) };
            }
            let bytes = encode(&mut field);
            assert_eq!(SideInfo::default().decode(&bytes, size, (turn, false), &[], &mut Field::default()), Ok(()));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            blocks in prop::collection::vec(block(), 35),
            phase in 0..128_u8,
            renews: bool,
            bipredicts: bool,
            last in prop::collection::vec(block(), 35),
            follows: bool,
        ) {
            let size = Size::new(105, 70).expect("a valid size");
            let turn = Turn { phase, renews };
            let mut field = Field::default();
            let last: Vec<_> = last.iter().filter(|_| follows).map(|block| block.vector(0)).collect();
            field.reset(size, turn, &last);
            field.bipredicts = bipredicts;
            for (at, block) in blocks.iter().enumerate() {
                let moves = field.sources[at] != Source::Constant;
                field.blocks[at] = match block {
                    _ if !moves => Block::Constant(9),
                    Block::Bipredicted([first, _]) if !field.may_bipredict(at) => Block::whole(*first),
                    _ => *block,
                };
            }
            let before = field.clone();
            let bytes = encode(&mut field);
            prop_assert_eq!(&field, &before);
            let mut read = Field::default();
            prop_assert_eq!(SideInfo::default().decode(&bytes, size, (turn, bipredicts), &last, &mut read), Ok(()));
            prop_assert_eq!(read, field);
        }

        #[test]
        fn any_bytes_are_a_field_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            phase in any::<u8>(),
            renews: bool,
            bipredicts: bool,
        ) {
            let size = Size::new(105, 70).expect("a valid size");
            let turn = Turn { phase, renews };
            let _ = SideInfo::default().decode(&bytes, size, (turn, bipredicts), &[], &mut Field::default());
        }
    }
}
