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

impl Block {
    /// Closes the current plane: all that is significant is known to it.
    pub(crate) const fn finish_plane(&mut self, plane: u8) {
        self.visited = 0;
        self.fresh = false;
        self.decided = false;
        self.plane = plane;
    }
}

/// One unit's place in the stripe's arrays, which have a border of one on every side, and its kin's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitMap {
    pub(crate) index: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Distance from a coefficient to the one below.
    pub(crate) stride: usize,
    /// Where the coefficient at (0, 0) is.
    pub(crate) origin: usize,
    pub(crate) grid: Grid,
    pub(crate) class: Class,
    weights: Weights,
    /// The next finer unit: where its coefficient at (0, 0) is, its stride, its weight for this one.
    child: Option<(usize, usize, u32)>,
    /// The chroma units that look at this one: where (0, 0) is, and their weight for it.
    followers: [Option<(usize, u32)>; 2],
    /// The luma unit at the same place, for chroma: where (0, 0) is, and its blocks.
    pub(crate) luma: Option<(usize, Grid)>,
    /// The blocks of the next coarser unit.
    pub(crate) parent: Option<Grid>,
    pub(crate) active: bool,
    /// An encoder's knowledge: all its magnitudes, or-ed.
    pub(crate) all: u16,
}

/// One unit's place among the stripe's blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Blocks across and down.
    pub(crate) across: usize,
    pub(crate) down: usize,
    /// Distance from a block to the one below.
    pub(crate) stride: usize,
    /// Where the first block is.
    origin: usize,
}

impl Grid {
    /// Where a block is in the stripe's blocks.
    #[inline]
    pub(crate) const fn at(&self, x: usize, y: usize) -> usize {
        self.origin + y * self.stride + x
    }
}

/// One stripe of every unit.
#[derive(Debug, Clone)]
pub(crate) struct Stripe {
    pub(crate) units: Vec<UnitMap>,
    pub(crate) known: Known,
}

/// The arrays of a stripe.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) blocks: Vec<Block>,
    /// Magnitude, and `NEGATIVE`. An encoder's are whole from the start; a decoder's grow.
    pub(crate) levels: Vec<u16>,
    /// -1, 0 or 1: the sign of what is known to be non-zero.
    pub(crate) signs: Vec<i8>,
    /// Expected magnitude from what is known around, in 1/64 of the finest step.
    expected: Vec<u32>,
    pub(crate) probabilities: Vec<Probability>,
}

/// Coefficients whose neighbours are all in their own block.
const INNER: u64 = 0x007E_7E7E_7E7E_7E00;
/// The neighbours of a block's coefficients within the block.
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
        let (mut units, mut blocks, mut samples) = (Vec::<UnitMap>::new(), Vec::new(), 0);
        for index in layout::units(channels) {
            let unit = Unit::at(index);
            let (width, height) = unit.size(width, rows);
            let (across, down) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
            let stride = width + 2;
            let find = |other: usize| units.iter().find(|map| map.index == other);
            let luma = find(layout::sibling(index, 0)).map(|luma| (luma.origin, luma.grid));
            units.push(UnitMap {
                index,
                width,
                height,
                stride,
                origin: samples + stride + 1,
                grid: Grid { across, down, stride: across + 2, origin: blocks.len() + across + 3 },
                class: Class::of(unit),
                weights: model.units[index].weights,
                child: None,
                followers: [None; 2],
                luma,
                parent: units.iter().find(|map| layout::child(map.index) == Some(index)).map(|parent| parent.grid),
                active: false,
                all: 0,
            });
            samples += stride * (height + 2);
            blocks.extend(empty(width, height, across, down));
        }
        for at in 0..units.len() {
            let index = units[at].index;
            let find = |other: usize| units.iter().find(|map| map.index == other);
            let child = layout::child(index).and_then(find);
            let child = child.map(|child| (child.origin, child.stride, child.weights.parent));
            let component = Unit::at(index).component;
            let followers = [1, 2].map(|other| {
                let map = find(layout::sibling(index, other)).filter(|_| other > component)?;
                Some((map.origin, if component == 0 { map.weights.from_luma } else { map.weights.from_cb }))
            });
            (units[at].child, units[at].followers) = (child, followers);
        }
        let probabilities = model.priors.iter().map(|&prior| Probability::new(prior)).collect();
        let known = Known {
            blocks,
            levels: vec![0; samples],
            signs: vec![0; samples],
            expected: vec![0; samples],
            probabilities,
        };
        Self { units, known }
    }
}

impl Known {
    /// Expected magnitude at a place, in 1/64 of the finest step.
    #[inline]
    pub(crate) fn expected(&self, place: usize) -> u32 {
        self.expected[place]
    }

    /// Expected magnitudes of the eight places from `place` on; what lies behind the arrays counts as zero.
    #[inline]
    pub(crate) fn expected_row(&self, place: usize) -> [u32; BLOCK] {
        match self.expected[place..].first_chunk() {
            Some(row) => *row,
            None => std::array::from_fn(|i| self.expected.get(place + i).copied().unwrap_or(0)),
        }
    }

    /// Makes the coefficient at `bit` of block `at` known as non-zero: its neighbours become near.
    #[inline]
    pub(crate) fn mark_significant(&mut self, grid: &Grid, at: usize, bit: u32) {
        let block = &mut self.blocks[at];
        block.significant |= 1 << bit;
        block.near |= NEIGHBOURS[bit as usize];
        if INNER >> bit & 1 == 0 {
            self.mark_outside(grid, at, bit);
        }
    }

    /// The neighbours in other blocks of a coefficient at the rim of its own.
    fn mark_outside(&mut self, grid: &Grid, at: usize, bit: u32) {
        let (x, y) = ((bit & 7).cast_signed(), (bit >> 3).cast_signed());
        for (dx, dy) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
            let (nx, ny) = (x + dx, y + dy);
            if (0..8).contains(&nx) && (0..8).contains(&ny) {
                continue;
            }
            let other = at.wrapping_add_signed((nx >> 3) as isize + (ny >> 3) as isize * grid.stride.cast_signed());
            self.blocks[other].near |= 1 << ((ny & 7) * 8 + (nx & 7));
        }
    }

    /// Adds `amount` to what is expected around a coefficient: neighbours, children, other components.
    #[inline]
    pub(crate) fn spread(&mut self, map: &UnitMap, x: usize, y: usize, amount: u32) {
        let expected = self.expected.as_mut_slice();
        let at = map.origin + y * map.stride + x;
        let Weights { side, above, diagonal, .. } = map.weights;
        let (side, above, diagonal) = (side * amount, above * amount, diagonal * amount);
        for (row, edge, middle) in
            [(at - map.stride, diagonal, above), (at, side, 0), (at + map.stride, diagonal, above)]
        {
            let three = &mut expected[row - 1..row + 2];
            three[0] += edge;
            three[1] += middle;
            three[2] += edge;
        }
        if let Some((origin, stride, weight)) = map.child {
            let at = origin + 2 * y * stride + 2 * x;
            for row in [at, at + stride] {
                let two = &mut expected[row..row + 2];
                two[0] += weight * amount;
                two[1] += weight * amount;
            }
        }
        for (origin, weight) in map.followers.iter().flatten() {
            expected[origin + y * map.stride + x] += weight * amount;
        }
    }
}

/// The blocks of a unit with their border.
fn empty(width: usize, height: usize, across: usize, down: usize) -> impl Iterator<Item = Block> {
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
