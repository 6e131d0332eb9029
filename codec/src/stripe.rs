//! What both sides know of one stripe's coefficients while its pieces are coded (spec, "State").

use crate::block::{self, BLOCK, Block};
use crate::contexts::Class;
use crate::layout::{self, Unit};
use crate::model::{Model, Weights};
use crate::picture::Channels;
use crate::probability::Probability;
use crate::regions::Regions;

/// In `Stripe::levels`: set if the coefficient is negative.
pub(crate) const NEGATIVE: u16 = 1 << 15;
/// An expected magnitude far beyond where contexts stop to tell them apart, so a bound there changes none. Twice
/// as much, and what eleven others add in a plane, 255 each, is less than 65536.
const MUCH: u16 = 1 << 14;
/// Cells behind the last coefficient's, so that eight from any of them on exist.
const MARGIN: usize = BLOCK;

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
    pub(crate) weights: Weights,
    /// The next finer unit: where its coefficient at (0, 0) is, its stride, its weight for this one.
    pub(crate) child: Option<(usize, usize, u16)>,
    /// The chroma units that look at this one: how far behind its coefficients theirs are, and their weight for it.
    pub(crate) followers: [Option<(usize, u16)>; 2],
    /// The luma unit at the same place, for chroma: how far before its coefficients those are, and its blocks.
    pub(crate) luma: Option<(usize, Grid)>,
    /// The blocks of the next coarser unit.
    pub(crate) parent: Option<Grid>,
    /// Those of the other two bands of the same level and component.
    pub(crate) others: [Option<Grid>; 2],
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
    pub(crate) blocks: Vec<Block>,
    pub(crate) regions: Regions,
    /// What is known: magnitude, and `NEGATIVE`.
    pub(crate) levels: Vec<u16>,
    /// What an encoder knows beyond; empty in a decoder.
    pub(crate) truth: Vec<u16>,
    /// Expected magnitude from what is known around, in 1/64 of the current plane's step, or at least `MUCH`.
    pub(crate) expected: Vec<u16>,
    pub(crate) probabilities: Vec<Probability>,
}

impl Stripe {
    /// An empty stripe of `width` x `rows` pixels, a decoder's. Takes memory for about 5 bytes a coefficient.
    pub(crate) fn new(model: &Model, channels: Channels, width: usize, rows: usize) -> Self {
        let sizes = layout::units(channels).map(|index| Unit::at(index).size(width, rows));
        let mut blocks = Vec::with_capacity(sizes.map(|(width, height)| block::count(width, height)).sum());
        let (mut units, mut samples) = (Vec::<UnitMap>::new(), 0);
        for index in layout::units(channels) {
            let unit = Unit::at(index);
            let (width, height) = unit.size(width, rows);
            let (across, down) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
            let (stride, origin) = (width + 2, samples + width + 3);
            let find = |other: usize| units.iter().find(|map| map.index == other);
            let luma = find(layout::sibling(index, 0)).map(|luma| (origin - luma.origin, luma.grid));
            units.push(UnitMap {
                index,
                width,
                height,
                stride,
                origin,
                grid: Grid { across, down, stride: across + 2, origin: blocks.len() + across + 3 },
                class: Class::of(unit),
                weights: model.units[index].weights,
                child: None,
                followers: [None; 2],
                luma,
                parent: layout::parent(index).and_then(find).map(|parent| parent.grid),
                others: [None; 2],
                active: false,
                all: 0,
            });
            samples += stride * (height + 2);
            block::grid(width, height, &mut blocks);
        }
        for at in 0..units.len() {
            let (index, origin) = (units[at].index, units[at].origin);
            let find = |other: usize| units.iter().find(|map| map.index == other);
            let child = layout::child(index).and_then(find);
            let child = child.map(|child| (child.origin, child.stride, child.weights.parent));
            let component = Unit::at(index).component;
            let followers = [1, 2].map(|other| {
                let map = find(layout::sibling(index, other)).filter(|_| other > component)?;
                Some((map.origin - origin, if component == 0 { map.weights.from_luma } else { map.weights.from_u }))
            });
            let others = layout::other_bands(index).map(|other| other.and_then(find).map(|map| map.grid));
            (units[at].child, units[at].followers, units[at].others) = (child, followers, others);
        }
        let probabilities = model.priors.iter().map(|&prior| Probability::new(prior)).collect();
        let cells = samples + MARGIN;
        let regions = Regions::new(channels, width, rows);
        let (levels, expected) = (vec![0; cells], vec![0; cells]);
        Self { units, blocks, regions, levels, truth: Vec::new(), expected, probabilities }
    }

    /// Goes on to the next finer plane, in whose steps all that is expected is twice as much.
    pub(crate) fn descend(&mut self) {
        self.regions.descend();
        for at in 0..self.units.len() {
            let map = &self.units[at];
            let kin =
                [layout::parent(map.index), Some(layout::sibling(map.index, 0)), Some(layout::sibling(map.index, 1))];
            let moved = |other: usize| self.units[..=at].iter().any(|map| map.index == other && map.active);
            // Only an active unit lets others expect anything, and it stays active.
            if map.active || kin.into_iter().flatten().any(moved) {
                for expected in &mut self.expected[map.origin - map.stride - 1..][..map.stride * (map.height + 2)] {
                    *expected = 2 * (*expected).min(MUCH);
                }
            }
        }
    }
}
