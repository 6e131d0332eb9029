//! What both sides know of one stripe's coefficients while its pieces are coded (spec, "State").

use crate::contexts::Class;
use crate::layout::{self, Unit};
use crate::model::{Model, Weights};
use crate::picture::Channels;
use crate::probability::Probability;

/// Side of a block, in coefficients; a block's 64 coefficients are the bits of a `u64`, row by row.
pub(crate) const BLOCK: usize = 8;
/// In `Stripe::levels`: set if the coefficient is negative.
pub(crate) const NEGATIVE: u16 = 1 << 15;

/// Eight by eight coefficients of a unit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Block {
    /// Coefficients that exist.
    pub(crate) valid: u64,
    /// Known to be non-zero.
    pub(crate) significant: u64,
    /// Next to a significant one.
    pub(crate) near: u64,
    /// Already coded in the current plane.
    pub(crate) visited: u64,
    /// An encoder's knowledge: all its magnitudes, or-ed. Zero in a decoder.
    pub(crate) all: u16,
    /// The plane that its significant coefficients are known to, but for visited ones: one better.
    pub(crate) plane: u8,
    /// Holds a non-zero coefficient.
    pub(crate) active: bool,
    /// Became active in the current plane.
    pub(crate) fresh: bool,
    /// Whether it is active was coded in the current plane.
    pub(crate) decided: bool,
}

/// Geometry of one unit within the stripe's arrays, which have a border of one on every side.
#[derive(Debug, Clone)]
pub(crate) struct UnitMap {
    pub(crate) index: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Distance from a coefficient to the one below.
    pub(crate) stride: usize,
    /// Where the coefficient at (0, 0) is.
    pub(crate) origin: usize,
    /// Blocks across and down.
    pub(crate) across: usize,
    pub(crate) down: usize,
    pub(crate) block_stride: usize,
    pub(crate) block_origin: usize,
    pub(crate) class: Class,
    weights: Weights,
    /// Position among the stripe's units of the finer unit, and its weight for this one.
    child: Option<(usize, u32)>,
    /// The chroma units that look at this one.
    followers: [Option<(usize, u32)>; 2],
    /// The luma unit at the same place, for chroma.
    pub(crate) luma: Option<usize>,
    /// The coarser unit.
    pub(crate) parent: Option<usize>,
    pub(crate) active: bool,
    /// An encoder's knowledge: all its magnitudes, or-ed.
    pub(crate) all: u16,
}

impl UnitMap {
    /// Where a coefficient is, from its block and bit.
    #[inline]
    pub(crate) const fn place(&self, block: usize, bit: u32) -> (usize, usize) {
        let x = block % self.across * BLOCK + (bit & 7) as usize;
        let y = block / self.across * BLOCK + (bit >> 3) as usize;
        (x, y)
    }

    /// Where a block is in the stripe's blocks.
    #[inline]
    pub(crate) const fn block_at(&self, block: usize) -> usize {
        self.block_origin + block / self.across * self.block_stride + block % self.across
    }
}

/// One stripe of every unit.
#[derive(Debug, Clone)]
pub(crate) struct Stripe {
    pub(crate) units: Vec<UnitMap>,
    pub(crate) blocks: Vec<Block>,
    /// Magnitude, and `NEGATIVE`. An encoder's are whole from the start; a decoder's grow.
    pub(crate) levels: Vec<u16>,
    /// -1, 0 or 1: the sign of what is known to be non-zero.
    pub(crate) signs: Vec<i8>,
    /// Expected magnitude from what is known around, in 1/64 of the finest step.
    pub(crate) expected: Vec<u32>,
    pub(crate) probabilities: Vec<Probability>,
}

/// Bits of a block's coefficient and its neighbours within the block.
const NEIGHBOURS: [u64; 64] = {
    let mut masks = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        let mut other = 0;
        while other < 64 {
            let (dx, dy) = ((bit % 8_i32) - other % 8, bit / 8 - other / 8);
            if other != bit && dx >= -1 && dx <= 1 && dy >= -1 && dy <= 1 {
                masks[bit as usize] |= 1 << other;
            }
            other += 1;
        }
        bit += 1;
    }
    masks
};

impl Stripe {
    /// An empty stripe of `width` x `rows` pixels. Takes memory for about 8 bytes a coefficient.
    pub(crate) fn new(model: &Model, channels: Channels, width: usize, rows: usize) -> Self {
        let indices: Vec<usize> = layout::units(channels).collect();
        let position = |index: usize| indices.iter().position(|&i| i == index);
        let (mut units, mut blocks, mut samples) = (Vec::new(), Vec::new(), 0);
        for &index in &indices {
            let unit = Unit::at(index);
            let (width, height) = unit.size(width, rows);
            let (across, down) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
            let stride = width + 2;
            let follower = |component| {
                let other = layout::sibling(index, component);
                let weights = model.units[other].weights;
                let weight = if unit.component == 0 { weights.from_luma } else { weights.from_cb };
                position(other).filter(|_| component > unit.component).map(|place| (place, weight))
            };
            units.push(UnitMap {
                index,
                width,
                height,
                stride,
                origin: samples + stride + 1,
                across,
                down,
                block_stride: across + 2,
                block_origin: blocks.len() + across + 3,
                class: Class::of(unit),
                weights: model.units[index].weights,
                child: layout::child(index).and_then(|c| Some((position(c)?, model.units[c].weights.parent))),
                followers: [follower(1), follower(2)],
                luma: if unit.component == 0 { None } else { position(layout::sibling(index, 0)) },
                parent: indices.iter().position(|&i| layout::child(i) == Some(index)),
                active: false,
                all: 0,
            });
            samples += stride * (height + 2);
            blocks.extend(grid(width, height, across, down));
        }
        Self {
            units,
            blocks,
            levels: vec![0; samples],
            signs: vec![0; samples],
            expected: vec![0; samples],
            probabilities: model.priors.iter().map(|&prior| Probability::new(prior)).collect(),
        }
    }

    /// Makes a coefficient known as non-zero: its neighbours become near.
    pub(crate) fn mark_significant(&mut self, unit: usize, block: usize, bit: u32) {
        let map = &self.units[unit];
        let at = map.block_at(block);
        let (column, row) = (bit & 7, bit >> 3);
        self.blocks[at].significant |= 1 << bit;
        self.blocks[at].near |= NEIGHBOURS[bit as usize];
        if (1..7).contains(&column) && (1..7).contains(&row) {
            return;
        }
        let (x, y) = (column.cast_signed(), row.cast_signed());
        for (dx, dy) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
            let (nx, ny) = (x + dx, y + dy);
            if (0..8).contains(&nx) && (0..8).contains(&ny) {
                continue;
            }
            let other = at.wrapping_add_signed((nx >> 3) as isize + (ny >> 3) as isize * map.block_stride.cast_signed());
            self.blocks[other].near |= 1 << ((ny & 7) * 8 + (nx & 7));
        }
    }

    /// Adds `amount` to what is expected around a coefficient: neighbours, children, other components.
    #[inline]
    pub(crate) fn spread(&mut self, unit: usize, x: usize, y: usize, amount: u32) {
        let map = &self.units[unit];
        let (stride, at) = (map.stride, map.origin + y * map.stride + x);
        let Weights { side, above, diagonal, .. } = map.weights;
        let (side, above, diagonal) = (side * amount, above * amount, diagonal * amount);
        for (row, edge, middle) in [(at - stride, diagonal, above), (at, side, 0), (at + stride, diagonal, above)] {
            let three = &mut self.expected[row - 1..=row + 1];
            three[0] += edge;
            three[1] += middle;
            three[2] += edge;
        }
        if let Some((child, weight)) = map.child {
            let map = &self.units[child];
            let at = map.origin + 2 * y * map.stride + 2 * x;
            for row in [at, at + map.stride] {
                let two = &mut self.expected[row..row + 2];
                two[0] += weight * amount;
                two[1] += weight * amount;
            }
        }
        for (follower, weight) in map.followers.iter().flatten() {
            let map = &self.units[*follower];
            self.expected[map.origin + y * map.stride + x] += weight * amount;
        }
    }
}

/// The blocks of a unit with their border.
fn grid(width: usize, height: usize, across: usize, down: usize) -> impl Iterator<Item = Block> {
    (0..(across + 2) * (down + 2)).map(move |i| {
        let (bx, by) = ((i % (across + 2)).wrapping_sub(1), (i / (across + 2)).wrapping_sub(1));
        if bx >= across || by >= down {
            return Block::default();
        }
        let (w, h) = ((width - bx * BLOCK).min(BLOCK), (height - by * BLOCK).min(BLOCK));
        let row = (1_u64 << w) - 1;
        Block { valid: (0..h).fold(0, |mask, y| mask | row << (8 * y)), ..Block::default() }
    })
}
