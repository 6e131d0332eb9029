//! Sections 22 and 23: a frame's blocks, their coding in its side information, and what the next frame copies of them.

use std::ops::Range;

use super::Fault;
use super::coder::Coder;
use super::slice::Ended;

/// A vector in quarters of a luma sample: across, down.
pub(super) type Vector = (i32, i32);

/// The prediction's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    EnhancementReference,
    BaseReference,
    Constant,
}

/// A block of 16 x 16 luma samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The vectors of its cells.
    Moved([Vector; 4]),
    /// Its vectors into the last picture and into the one before.
    Bipredicted([Vector; 2]),
    /// The level of its luma, 0..63.
    Constant(i32),
}

impl Block {
    pub(super) fn vector(self, cell: usize) -> Option<Vector> {
        match self {
            Self::Moved(vectors) => Some(vectors[cell]),
            Self::Bipredicted([first, _]) => Some(first),
            Self::Constant(_) => None,
        }
    }
}

/// All blocks of a frame, row by row.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) across: usize,
    pub(super) down: usize,
    pub(super) sources: Vec<Source>,
    pub(super) blocks: Vec<Block>,
}

/// Section 22: the blocks, of `count`, that are refreshed in a frame of this phase, and those that are renewed if it
/// renews.
pub(super) fn blocks_in_turn(count: usize, phase: usize) -> [Range<usize>; 2] {
    let (t, u) = (phase % 8, phase / 8);
    let (first, end) = (count * t / 8, count * (t + 1) / 8);
    let renewed = first + (end - first) * u / 16..first + (end - first) * (u + 1) / 16;
    [first..end, renewed]
}

impl Field {
    /// Reads the side information of a frame; `bipredicts` and `renews` are its head's bits. `left`: the vectors that
    /// the frame before left, if this one copies vectors.
    pub(super) fn read(
        side: &[u8],
        [width, height]: [usize; 2],
        phase: usize,
        [bipredicts, renews]: [bool; 2],
        left: Option<&[Option<Vector>]>,
    ) -> Result<Self, Fault> {
        let (across, down) = (width.div_ceil(16), height.div_ceil(16));
        let count = across * down;
        let source = |at: usize| match blocks_in_turn(count, phase).map(|blocks| blocks.contains(&at)) {
            [_, true] if renews => Source::Constant,
            [true, _] => Source::BaseReference,
            _ => Source::EnhancementReference,
        };
        let sources = (0..count).map(source).collect();
        let [refreshed_before, _] = blocks_in_turn(count, (phase + 127) % 128);
        let two = (0..count).map(|at| bipredicts && !refreshed_before.contains(&at)).collect();
        let payload: Vec<u8> = side.iter().copied().chain([0; 8]).collect();
        let mut reader = Reader {
            coder: Coder::new(&payload),
            estimates: priors().into_iter().map(|prior| (prior, prior)).collect(),
            field: Self { across, down, sources, blocks: Vec::new() },
            two,
            notes: Vec::new(),
            left: left.map_or_else(|| vec![None; count], <[_]>::to_vec),
        };
        for at in 0..count {
            let (block, note) = reader.block(at).map_err(|Ended| Fault::Corrupt)?;
            reader.field.blocks.push(block);
            reader.notes.push(note);
        }
        Ok(reader.field)
    }
}

/// Returns the priors of the contexts 0..169, in 1/65536.
fn priors() -> Vec<i32> {
    let merge = [224, 245, 247, 186, 223, 239, 168, 209, 232, 132, 182, 216];
    let candidate = [67, 47, 56, 92, 90, 70, 145, 123, 150, 118, 103, 105, 63];
    let start = merge.into_iter().chain(candidate).chain([12, 28, 115, 142, 92, 60, 78]);
    let zero = [68, 44, 31, 74, 53, 38, 79, 67, 51, 94, 79, 60];
    let longer = [
        [133, 157, 153, 124, 89, 42, 16, 35],
        [166, 158, 130, 99, 72, 48, 60, 30],
        [203, 203, 186, 152, 95, 53, 39, 13],
        [135, 154, 138, 114, 75, 47, 56, 15],
        [158, 155, 123, 90, 62, 57, 36, 57],
        [199, 203, 176, 138, 90, 72, 35, 13],
    ];
    let longer = longer.into_iter().flat_map(|row| row.into_iter().chain([32; 7]));
    let second = [[124, 89, 65, 16], [125, 81, 68, 16]];
    let second = second.into_iter().flat_map(|row| row.into_iter().chain([32; 11]));
    let two = [128, 20, 95, 185, 203, 208].into_iter().chain(second);
    start.chain(zero).chain(longer).chain(two).map(|prior| 256 * prior).collect()
}

/// What contexts need to know of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    merged: bool,
    split: bool,
    two: bool,
    length: i32,
}

struct Reader<'a> {
    coder: Coder<'a>,
    estimates: Vec<(i32, i32)>,
    field: Field,
    /// Whether each block may have two vectors.
    two: Vec<bool>,
    notes: Vec<Note>,
    /// The vector that the frame before left for each block.
    left: Vec<Option<Vector>>,
}

impl Reader<'_> {
    fn code(&mut self, context: usize) -> Result<bool, Ended> {
        let (fast, slow) = self.estimates[context];
        let q = ((fast + slow) >> 2).clamp(32, 32736).unsigned_abs();
        let bit = loop {
            if let Some(bit) = self.coder.symbol(q) {
                break bit;
            }
            if !self.coder.grow() {
                return Err(Ended);
            }
        };
        let target = if bit { 65535 } else { 0 };
        self.estimates[context] = (fast + ((target - fast) >> 4), slow + ((target - slow) >> 6));
        Ok(bit)
    }

    fn block(&mut self, at: usize) -> Result<(Block, Note), Ended> {
        if self.field.sources[at] == Source::Constant {
            return Ok((self.constant()?, Note::default()));
        }
        let (left, above) = self.left_and_above(at);
        let candidates = self.candidates(at);
        let count = |of: fn(&Note) -> bool| {
            [left, above].iter().filter(|&&at| at.is_some_and(|at| of(&self.notes[at]))).count()
        };
        let (merged, split) = (count(|note| note.merged), count(|note| note.split));
        let length: i32 = [left, above].into_iter().flatten().map(|at| self.notes[at].length).sum();
        let activity = if length < 4 {
            0
        } else if length < 20 {
            1
        } else {
            2
        };
        let others = candidates.iter().skip(1).filter(|vector| **vector != (0, 0)).count().min(3);
        if self.code(3 * others + merged)? {
            let mut index = 0;
            while index + 1 < candidates.len() && self.code(12 + [0, 1, 3, 6][others] + index)? {
                index += 1;
            }
            let note = Note { merged: true, ..Note::default() };
            return self.whole(at, candidates[index], note);
        }
        if self.code(25)? {
            return Ok((self.constant()?, Note::default()));
        }
        let mut note = Note { split: self.code(26 + split)?, ..Note::default() };
        if !note.split {
            let vector = self.vector(candidates[0], 0, activity, &mut note)?;
            return self.whole(at, vector, note);
        }
        let mut vectors = [candidates[0]; 4];
        for cell in 0..4 {
            let before = vectors[cell.max(1) - 1];
            let same = cell > 0 && self.code(29 + cell - 1)?;
            vectors[cell] = if same { before } else { self.vector(before, 2, activity, &mut note)? };
        }
        Ok((Block::Moved(vectors), note))
    }

    /// Reads a block that has one vector into the last picture.
    fn whole(&mut self, at: usize, first: Vector, mut note: Note) -> Result<(Block, Note), Ended> {
        let (left, above) = self.left_and_above(at);
        let near = [left, above].into_iter().flatten();
        let count = near.clone().filter(|&at| self.notes[at].two).count();
        note.two = self.two[at] && self.code(135 + count)?;
        if !note.two {
            return Ok((Block::Moved([first; 4]), note));
        }
        let bend = near.clone().find_map(|at| match self.field.blocks[at] {
            Block::Bipredicted([first, second]) => Some((second.0 - 2 * first.0, second.1 - 2 * first.1)),
            _ => None,
        });
        let bend = bend.unwrap_or((0, 0));
        let x = self.magnitude(138, 140)?;
        let y = self.magnitude(139, 155)?;
        let second = (wrapped(2 * first.0 + bend.0 + x), wrapped(2 * first.1 + bend.1 + y));
        Ok((Block::Bipredicted([first, second]), note))
    }

    fn constant(&mut self) -> Result<Block, Ended> {
        let mut level = 0;
        for _ in 0..6 {
            level = 2 * level + i32::from(self.code(134)?);
        }
        Ok(Block::Constant(level))
    }

    fn vector(&mut self, before: Vector, row: usize, activity: usize, note: &mut Note) -> Result<Vector, Ended> {
        let x = self.number(row, activity)?;
        let y = self.number(row + 1, activity)?;
        note.length = note.length.max(x.abs() + y.abs());
        Ok((wrapped(before.0 + x), wrapped(before.1 + y)))
    }

    fn number(&mut self, row: usize, activity: usize) -> Result<i32, Ended> {
        self.magnitude(32 + 3 * row + activity, 44 + 15 * (3 * (row % 2) + activity))
    }

    /// Reads a number whose contexts are `zero`, and `longer` and the ones after it.
    fn magnitude(&mut self, zero: usize, longer: usize) -> Result<i32, Ended> {
        if self.code(zero)? {
            return Ok(0);
        }
        let negative = self.code(134)?;
        let mut bits = 0;
        while bits < 14 && self.code(longer + bits)? {
            bits += 1;
        }
        let mut magnitude = 1;
        for _ in 0..bits {
            magnitude = 2 * magnitude + i32::from(self.code(134)?);
        }
        Ok(if negative { -magnitude } else { magnitude })
    }

    /// Returns the blocks to the left and above, if they exist.
    fn left_and_above(&self, at: usize) -> (Option<usize>, Option<usize>) {
        let across = self.field.across;
        ((!at.is_multiple_of(across)).then(|| at - 1), (at >= across).then(|| at - across))
    }

    fn candidates(&self, at: usize) -> Vec<Vector> {
        let across = self.field.across;
        let (left, above) = self.left_and_above(at);
        let corner = match (above, left) {
            (Some(above), _) if at % across + 1 < across => self.field.blocks[above + 1].vector(2),
            (Some(above), Some(_)) => self.field.blocks[above - 1].vector(3),
            _ => None,
        };
        let left = left.and_then(|left| self.field.blocks[left].vector(1));
        let above = above.and_then(|above| self.field.blocks[above].vector(2));
        let known: Vec<Vector> = [left, above, corner].into_iter().flatten().collect();
        let predicted = match known[..] {
            [a, b, c] => (median([a.0, b.0, c.0]), median([a.1, b.1, c.1])),
            [first, ..] => first,
            [] => (0, 0),
        };
        let mut candidates = vec![predicted];
        let right = (at % across + 1 < across).then_some(at + 1);
        let below = Some(at + across).filter(|below| *below < self.left.len());
        let copied = [Some(at), right, below].into_iter().flatten().filter_map(|at| self.left[at]);
        for vector in known.into_iter().chain(copied).chain([(0, 0)]) {
            if !candidates.contains(&vector) {
                candidates.push(vector);
            }
        }
        candidates
    }
}

fn median(mut three: [i32; 3]) -> i32 {
    three.sort_unstable();
    three[1]
}

/// Returns the number from -2^15 to 2^15 - 1 that equals this one modulo 2^16.
fn wrapped(number: i32) -> i32 {
    (number + 0x8000).rem_euclid(0x1_0000) - 0x8000
}
