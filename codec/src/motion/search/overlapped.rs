//! The choice once more, now by what overlapped prediction really leaves: each block tries what its neighbours have.

use std::ops::Range;

use crate::entropy::range_coder::RangeEncoder;
use crate::motion::field::{BLOCK, Block, CELL, Field, Source};
use crate::motion::interpolate::{Window, row_length};
use crate::motion::overlap::{Exact, Kind, Sampler, Sums};
use crate::motion::reference::{FRACTION, Plane};
use crate::motion::search::block::{Blocks, Found};
use crate::motion::search::cost::{BIT, Cost};
use crate::motion::search::quarters::Quarters;
use crate::motion::side_info::SideInfo;
use crate::motion::vector::Vector;
use crate::simd::widest;

/// Samples of a block's side with its overlap.
const SIDE: usize = BLOCK + CELL;
/// From sums of samples times weights to eighths of a step.
const SHIFT: u32 = 8 + FRACTION;
/// Candidates of a block.
const MOST: usize = 14;

/// Refines one frame after another.
#[derive(Debug, Default)]
pub(super) struct Overlapped {
    side_info: SideInfo,
    sums: Vec<i32>,
    /// What one block gives.
    own: Vec<i32>,
    room: Room,
}

impl Overlapped {
    /// Improves `field` and gives its bytes, in the memory of `bytes`. `lambda`: steps of difference that a bit is worth,
    /// in 1/16.
    pub(super) fn refine(
        &mut self,
        lambda: u32,
        blocks: &Blocks,
        from: &References<'_>,
        found: &[Found],
        field: &mut Field,
        bytes: Vec<u8>,
    ) -> Vec<u8> {
        self.side_info.reset(field);
        self.sums.clear();
        self.sums.resize(field.blocks.len() * BLOCK * BLOCK + SIDE, 0);
        for (at, block) in field.blocks.iter().enumerate() {
            self.add(field, from, at, block);
        }
        let mut coder = RangeEncoder::new();
        coder.restart(bytes);
        for (at, found) in found.iter().enumerate() {
            if let Block::Moved(_) = field.blocks[at]
                && !is_calm(field, at)
            {
                let best = self.best(lambda, blocks, from, found, field, at);
                field.blocks[at] = best;
            }
            // An encoder is never starved.
            let _ = self.side_info.block(&mut coder, field, at, field.blocks[at]);
        }
        coder.finish_before_zeros()
    }

    fn add(&mut self, field: &Field, from: &References<'_>, at: usize, block: &Block) {
        let mut sums = Sums { all: &mut self.sums, width: field.across * BLOCK, corner: [0; 2] };
        from.add(&mut sums, &mut self.room, field, at, block);
    }

    /// The best of a block's candidates, which takes the block's place in the sums.
    fn best(
        &mut self,
        lambda: u32,
        blocks: &Blocks,
        from: &References<'_>,
        found: &Found,
        field: &Field,
        at: usize,
    ) -> Block {
        let reach = Reach::of(field, at);
        let wanted = reach.wanted(blocks);
        let before = field.blocks[at];
        // All but this block: take its share out.
        self.alone(field, from, at, &before, reach);
        let mut others = [[0; SIDE]; SIDE];
        for (y, (out, own)) in others.iter_mut().zip(self.own.as_chunks::<SIDE>().0).enumerate().take(reach.sides[1]) {
            let sums = &self.sums[reach.row(field, y)];
            out.iter_mut().zip(sums).zip(own).for_each(|((out, sum), own)| *out = sum - own);
        }
        let (candidates, count) = candidates(&self.side_info, field, found, at);
        let mut best = (before, u32::MAX);
        for block in &candidates[..count] {
            let mut cost = Cost::default();
            let _ = self.side_info.block(&mut cost, field, at, *block);
            let bits = lambda * cost.0 / (16 * BIT);
            if bits >= best.1 {
                continue;
            }
            self.alone(field, from, at, block, reach);
            let difference = widest!(left(&wanted, &others, self.own.as_chunks().0, best.1 - bits));
            if difference < best.1 - bits {
                best = (*block, difference + bits);
            }
        }
        self.alone(field, from, at, &best.0, reach);
        for (y, (others, own)) in others.iter().zip(self.own.as_chunks::<SIDE>().0).enumerate().take(reach.sides[1]) {
            let sums = &mut self.sums[reach.row(field, y)];
            sums.iter_mut().zip(others).zip(own).for_each(|((sum, other), own)| *sum = other + own);
        }
        best.0
    }

    /// What a block alone gives to the samples that it reaches.
    fn alone(&mut self, field: &Field, from: &References<'_>, at: usize, block: &Block, reach: Reach) {
        let Self { own, room, .. } = self;
        own.clear();
        own.resize(SIDE * SIDE + SIDE, 0);
        let mut sums = Sums { all: own, width: SIDE, corner: reach.corner.map(usize::cast_signed) };
        from.add(&mut sums, room, field, at, block);
    }
}

/// The samples of a frame that a block reaches. Squares of them have rows of `SIDE`, with zeros behind the frame's.
#[derive(Clone, Copy)]
struct Reach {
    corner: [usize; 2],
    sides: [usize; 2],
}

impl Reach {
    fn of(field: &Field, at: usize) -> Self {
        let place = [at % field.across, at / field.across];
        let corner = place.map(|at| (at * BLOCK).saturating_sub(CELL / 2));
        let limits = [field.across * BLOCK, field.down * BLOCK];
        let sides = [0, 1].map(|axis| (place[axis] * BLOCK + BLOCK + CELL / 2).min(limits[axis]) - corner[axis]);
        Self { corner, sides }
    }

    /// Where row `y` is among the frame's samples.
    const fn row(self, field: &Field, y: usize) -> Range<usize> {
        let first = (self.corner[1] + y) * field.across * BLOCK + self.corner[0];
        first..first + self.sides[0]
    }

    /// The frame's samples, as references have them.
    fn wanted(self, blocks: &Blocks) -> [[i32; SIDE]; SIDE] {
        let mut wanted = [[0; SIDE]; SIDE];
        for (y, out) in wanted.iter_mut().enumerate().take(self.sides[1]) {
            let luma = blocks.row([self.corner[0], self.corner[1] + y], self.sides[0]);
            out.iter_mut().zip(luma).for_each(|(out, luma)| *out = (i32::from(*luma) - 128) << FRACTION);
        }
        wanted
    }
}

/// Room for what is interpolated.
#[derive(Debug)]
struct Room {
    window: Window,
    samples: Samples,
}

/// Of a block with its overlap.
type Samples = [i16; SIDE * SIDE];

impl Default for Room {
    fn default() -> Self {
        Self { window: Window::default(), samples: [0; SIDE * SIDE] }
    }
}

/// What blocks are predicted from: the loop's and the floor's luma, or samples near enough to choose by.
pub(super) enum References<'a> {
    Exact([&'a Plane; 2]),
    Rough(&'a [Quarters; 2]),
}

impl References<'_> {
    fn add(&self, sums: &mut Sums<'_>, room: &mut Room, field: &Field, at: usize, block: &Block) {
        let place = [at % field.across, at / field.across];
        let floor = usize::from(field.sources[at] == Source::Floor);
        match self {
            Self::Exact(planes) => {
                let mut sampler = Exact { window: &mut room.window, plane: planes[floor], kind: Kind::Luma };
                sums.add(&mut sampler, field, Kind::Luma, place, block);
            }
            Self::Rough(quarters) => {
                let mut sampler = Rough { quarters: &quarters[floor], samples: &mut room.samples };
                sums.add(&mut sampler, field, Kind::Luma, place, block);
            }
        }
    }
}

/// Means of 8-bit half samples.
struct Rough<'a> {
    quarters: &'a Quarters,
    samples: &'a mut Samples,
}

impl Sampler for Rough<'_> {
    fn fetch(&mut self, corner: [isize; 2], vector: Vector, side: [usize; 2]) -> &[i16] {
        let length = row_length(side[0]);
        match length {
            8 => self.quarters.fetch::<8>(corner, vector, side, self.samples.as_chunks_mut().0),
            16 => self.quarters.fetch::<16>(corner, vector, side, self.samples.as_chunks_mut().0),
            _ => self.quarters.fetch::<SIDE>(corner, vector, side, self.samples.as_chunks_mut().0),
        }
        &self.samples[..length * side[1]]
    }
}

/// Absolute differences that a prediction leaves, if they are fewer than `enough`; else at least as many.
#[inline(always)]
fn left(wanted: &[[i32; SIDE]; SIDE], others: &[[i32; SIDE]; SIDE], own: &[[i32; SIDE]], enough: u32) -> u32 {
    let mut sum = 0;
    for ((wanted, others), own) in wanted.iter().zip(others).zip(own) {
        for ((wanted, other), own) in wanted.iter().zip(others).zip(own) {
            sum += ((other + own) >> SHIFT).abs_diff(*wanted);
        }
        if sum >> FRACTION >= enough {
            break;
        }
    }
    sum >> FRACTION
}

/// A block and all around it move alike, so that nothing better is near.
fn is_calm(field: &Field, at: usize) -> bool {
    let (x, y) = (at % field.across, at / field.across);
    let (columns, rows) =
        (x.saturating_sub(1)..(x + 2).min(field.across), y.saturating_sub(1)..(y + 2).min(field.down));
    let mut near = rows.flat_map(|y| columns.clone().map(move |x| y * field.across + x));
    field.blocks[at].one_vector() == Some(Vector::ZERO) && near.all(|near| field.blocks[near] == field.blocks[at])
}

/// What a block tries, itself first.
fn candidates(side_info: &SideInfo, field: &Field, found: &Found, at: usize) -> ([Block; MOST], usize) {
    let before = field.blocks[at];
    let (mut all, mut count) = ([before; MOST], 1);
    let mut add = |block: Block| {
        if count < MOST && !all[..count].contains(&block) {
            all[count] = block;
            count += 1;
        }
    };
    side_info.candidates(field, at).as_slice().iter().for_each(|vector| add(Block::whole(*vector)));
    let right = (at % field.across + 1 < field.across).then_some(at + 1);
    let below = (at / field.across + 1 < field.down).then_some(at + field.across);
    for vector in [right, below].into_iter().flatten().filter_map(|at| field.blocks[at].vector(0)) {
        add(Block::whole(vector));
    }
    add(Block::whole(found.whole));
    if let Some(vector) = before.one_vector() {
        for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
            add(Block::whole(vector.plus(Vector { x, y })));
        }
    }
    (all, count)
}
