//! The state of one slice's coefficients that both sides know during coding (spec, "State").

use crate::bitplane::code_block::{self, CODE_BLOCK_COEFFICIENTS, CODE_BLOCK_SIDE, CodeBlock};
use crate::bitplane::contexts::{Class, GAIN_PRIORS};
use crate::bitplane::region_gains::RegionGains;
use crate::bitplane::region_rotations::RegionRotations;
use crate::entropy::probability::Probability;
use crate::entropy::range_coder::Coder;
use crate::error::ModelId;
use crate::model::{Model, Weights};
use crate::simd::widest;
use crate::subband::layout::{self, BitPlanes, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::regions::{self, REGION_SIDE};

/// Planes in which expected magnitudes have the same unit: 1/64 of the last one's step.
const UNIT_PLANES: u32 = 4;
/// An expected magnitude above the smallest of the last bin in each plane of the next unit, so this bound changes no
/// context. In that unit it is 16384; what eight neighbours add in all planes, 255 / 64 of a step each, is less than
/// 32768.
const MAX_EXPECTED_MAGNITUDE: u16 = 1 << 10;
/// The first coefficient of each row of a code block.
const FIRST_COLUMN: u64 = 0x0101_0101_0101_0101;

/// One subband's place in the slice's arrays, and the places of related subbands.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubbandMap {
    pub(super) index: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) grid: Grid,
    pub(super) class: Class,
    pub(super) weights: Weights,
    /// The last of the slice's planes in which it is coded.
    pub(super) last_plane: u8,
    /// By how many planes its parent ends earlier: 0 or 1.
    pub(super) parent_shift: u8,
    /// For chroma, the luma subband at the same place: the distance back to its coefficients, and its code blocks.
    pub(super) luma: Option<(usize, Grid)>,
    /// For the red difference, the distance back to the coefficients of the blue one at the same place.
    pub(super) blue: Option<usize>,
    /// The code blocks of the next coarser subband.
    pub(super) parent: Option<Grid>,
    /// The code blocks of the other two bands of the same level and component.
    pub(super) others: [Option<Grid>; 2],
    /// Coded as containing a non-zero coefficient.
    pub(super) nonzero: bool,
    /// An encoder's source: all its magnitudes, or-ed.
    pub(super) all: u16,
}

impl SubbandMap {
    /// Returns this with the neighbours' weights times 2^`unit`.
    #[inline(always)]
    pub(super) fn in_units(mut self, unit: u32) -> Self {
        let Weights { side, above, diagonal, .. } = &mut self.weights;
        for weight in [side, above, diagonal] {
            *weight <<= unit;
        }
        self
    }

    /// Returns which neighbours' expected magnitudes grow with a coefficient: left and right, above and below,
    /// diagonal.
    #[inline(always)]
    pub(super) const fn kinds(&self) -> [bool; 3] {
        let Weights { side, above, diagonal, .. } = self.weights;
        [side != 0, above != 0, diagonal != 0]
    }
}

/// One subband's place among the slice's code blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// Code blocks across and down.
    pub(super) across: usize,
    pub(super) down: usize,
    /// The distance from a code block to the one below.
    pub(super) stride: usize,
    /// The place of the first code block.
    origin: usize,
}

impl Grid {
    /// The place of the first code block of the border.
    const fn first(&self) -> usize {
        self.origin - self.stride - 1
    }

    /// The distance from the coefficients of these code blocks to those of others of the same number.
    const fn before(&self, other: &Self) -> usize {
        (other.origin - self.origin) * CODE_BLOCK_COEFFICIENTS
    }

    /// The place of a code block in the slice's array.
    #[inline(always)]
    pub(super) const fn at(&self, x: usize, y: usize) -> usize {
        self.origin + y * self.stride + x
    }

    /// The place of the coefficient in this column and row in the slice's arrays of numbers.
    #[inline(always)]
    pub(super) const fn place(&self, x: usize, y: usize) -> usize {
        let block = self.at(x / CODE_BLOCK_SIDE, y / CODE_BLOCK_SIDE);
        block * CODE_BLOCK_COEFFICIENTS + y % CODE_BLOCK_SIDE * CODE_BLOCK_SIDE + x % CODE_BLOCK_SIDE
    }
}

/// The place of a code block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    /// Position among the slice's subbands.
    pub(super) subband: u16,
    /// Column and row.
    pub(super) bx: u16,
    pub(super) by: u16,
}

/// One slice of every subband.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slice {
    /// Components, width and rows that the arrays have memory for.
    shape: Option<(ChromaFormat, usize, usize)>,
    /// The model whose weights the subbands have.
    model: Option<ModelId>,
    /// The bit planes, if some are below the finest step; else the default.
    pub(super) planes: BitPlanes,
    pub(super) subbands: Vec<SubbandMap>,
    pub(super) blocks: Vec<CodeBlock>,
    /// By code block: its states.
    pub(super) states: Vec<u8>,
    /// By code block: all its magnitudes in an encoder's source, or-ed. Zero in a decoder.
    pub(super) all: Vec<u16>,
    /// The code blocks with significant coefficients, in the order in which they got the first.
    pub(super) significant: Vec<BlockPlace>,
    /// Whether expected magnitudes are kept.
    pub(super) expects: bool,
    pub(crate) rotations: RegionRotations,
    pub(crate) gains: RegionGains,
    /// The binary logarithm of the current plane's step, in 64 units of expected magnitudes.
    pub(super) unit: u32,
    /// Numbers of each code block, one code block after another.
    ///
    /// The known levels: magnitude, and `SIGN_BIT`.
    pub(super) levels: Vec<u16>,
    /// The levels that only an encoder knows; empty in a decoder.
    pub(super) source: Vec<u16>,
    /// Computed from the known levels of neighbours, or large. Nobody keeps them who needs no contexts.
    pub(super) expected_magnitude: Vec<u16>,
    pub(super) probabilities: Vec<Probability>,
    /// Memory for a row of levels.
    pub(super) row: Vec<u16>,
}

impl Slice {
    /// Resets this to a decoder's slice of `width` x `rows` pixels of which nothing is known, in the same memory. It
    /// takes about 6 bytes a coefficient. If the last slice had this shape, it writes only to what has changed.
    pub(crate) fn reset(&mut self, model: &Model, chroma: ChromaFormat, width: usize, rows: usize) {
        let shape = (chroma, width, rows);
        if self.shape.replace(shape) == Some(shape) {
            self.forget();
            if self.model != Some(model.id()) {
                self.weigh(model);
            }
        } else {
            self.lay_out(model, chroma, [width, rows]);
        }
        self.model = Some(model.id());
        self.unit = UNIT_PLANES - 1;
        self.probabilities.clear();
        self.probabilities.extend(model.priors.iter().chain(&GAIN_PRIORS).map(|&prior| Probability::new(prior)));
        self.rotations.reset(chroma, width, rows);
        self.gains.reset();
        self.set_planes(BitPlanes::default());
    }

    /// Sets the bit planes of a slice that was reset, if some are below the finest step.
    pub(crate) fn set_planes(&mut self, planes: BitPlanes) {
        let planes = if planes.fine > 0 { planes } else { BitPlanes::default() };
        if self.planes != planes {
            self.planes = planes;
            let last = |index: usize| planes.fine - planes.fine_at(Subband::at(index).level);
            for map in &mut self.subbands {
                map.last_plane = last(map.index);
                map.parent_shift = layout::parent(map.index).map_or(0, |parent| last(parent) - map.last_plane);
            }
        }
    }

    /// The coding passes of each pass over a plane: one for each subband.
    pub(crate) fn passes(&self) -> usize {
        self.subbands.len()
    }

    /// Makes the arrays for a slice of these pixels.
    fn lay_out(&mut self, model: &Model, chroma: ChromaFormat, [width, rows]: [usize; 2]) {
        self.planes = BitPlanes::default();
        self.subbands.clear();
        self.blocks.clear();
        let sizes = layout::subbands(chroma).map(|index| Subband::at(index).size(width, rows));
        self.blocks.reserve(sizes.map(|(width, height)| code_block::count(width, height)).sum());
        for index in layout::subbands(chroma) {
            let (width, height) = Subband::at(index).size(width, rows);
            let map = self.place(model, index, [width, height]);
            self.subbands.push(map);
            code_block::grid(width, height, &mut self.blocks);
        }
        for at in 0..self.subbands.len() {
            self.relate(at);
        }
        self.significant.clear();
        self.significant.reserve(self.blocks.len());
        self.states.clear();
        self.states.resize(self.blocks.len(), 0);
        zeros(&mut self.all, self.blocks.len());
        let count = self.blocks.len() * CODE_BLOCK_COEFFICIENTS;
        zeros(&mut self.levels, count);
        zeros(&mut self.expected_magnitude, count);
        self.source.clear();
    }

    /// Takes the weights of `model`.
    fn weigh(&mut self, model: &Model) {
        self.subbands.iter_mut().for_each(|map| map.weights = model.subbands[map.index].weights);
    }

    /// Forgets all that is known.
    fn forget(&mut self) {
        self.significant.clear();
        for map in &mut self.subbands {
            let own = map.grid.first()..map.grid.first() + code_block::count(map.width, map.height);
            if map.nonzero {
                let levels = &mut self.levels.as_chunks_mut().0[own.clone()];
                let expected = &mut self.expected_magnitude.as_chunks_mut().0[own.clone()];
                for ((block, levels), expected) in self.blocks[own.clone()].iter_mut().zip(levels).zip(expected) {
                    if block.significant != 0 {
                        *levels = [0; CODE_BLOCK_COEFFICIENTS];
                    }
                    if self.expects && block.near != 0 {
                        *expected = [0; CODE_BLOCK_COEFFICIENTS];
                    }
                    *block = CodeBlock { valid: block.valid, ..CodeBlock::default() };
                }
                self.states[own.clone()].fill(0);
            }
            if map.all != 0 {
                self.all[own].fill(0);
            }
            (map.nonzero, map.all) = (false, 0);
        }
        self.expects = false;
    }

    /// Returns the map of the next subband, related to the subbands before it alone.
    fn place(&self, model: &Model, index: usize, [width, height]: [usize; 2]) -> SubbandMap {
        let across = width.div_ceil(CODE_BLOCK_SIDE);
        let down = height.div_ceil(CODE_BLOCK_SIDE);
        let grid = Grid { across, down, stride: across + 2, origin: self.blocks.len() + across + 3 };
        let luma = self.find(layout::sibling(index, 0)).map(|luma| (luma.grid.before(&grid), luma.grid));
        let blue = (Subband::at(index).component == 2).then(|| self.find(layout::sibling(index, 1))).flatten();
        let blue = blue.map(|blue| blue.grid.before(&grid));
        SubbandMap {
            index,
            width,
            height,
            grid,
            class: Class::of(Subband::at(index)),
            weights: model.subbands[index].weights,
            last_plane: 0,
            parent_shift: 0,
            luma,
            blue,
            parent: layout::parent(index).and_then(|parent| self.find(parent)).map(|parent| parent.grid),
            others: [None; 2],
            nonzero: false,
            all: 0,
        }
    }

    /// Relates a subband to its other bands.
    fn relate(&mut self, at: usize) {
        let others = layout::other_bands(self.subbands[at].index);
        self.subbands[at].others = others.map(|other| self.find(other?).map(|map| map.grid));
    }

    fn find(&self, index: usize) -> Option<&SubbandMap> {
        self.subbands.iter().find(|map| map.index == index)
    }

    /// Goes on to the next finer plane.
    pub(super) fn descend(&mut self) {
        self.rotations.descend();
        if let Some(unit) = self.unit.checked_sub(1) {
            self.unit = unit;
            return;
        }
        self.unit = UNIT_PLANES - 1;
        for map in &self.subbands {
            if self.expects && map.nonzero {
                let first = map.grid.first();
                let count = code_block::count(map.width, map.height);
                let expected = &mut self.expected_magnitude.as_chunks_mut().0[first..][..count];
                widest!(refine(expected));
            }
        }
    }

    /// Codes, at the start of a plane, the rotation of every region that has a significant coefficient and no rotation
    /// yet.
    pub(super) fn code_rotations<C: Coder>(&mut self, coder: &mut C) -> Option<()> {
        let Some(mut region) = self.rotations.next_without() else { return Some(()) };
        let mut turned: [Option<usize>; SUBBAND_COUNT] = [None; SUBBAND_COUNT];
        let all = self.subbands.iter().enumerate();
        let nonzero = all.filter(|(_, map)| map.nonzero && regions::rotates(Subband::at(map.index)));
        for (turned, (at, _)) in turned.iter_mut().zip(nonzero) {
            *turned = Some(at);
        }
        loop {
            if turned.iter().map_while(|at| *at).any(|at| self.has_significant(at, region)) {
                self.rotations.code(&mut self.probabilities, coder)?;
            } else {
                self.rotations.skip();
            }
            let Some(next) = self.rotations.next_without() else { return Some(()) };
            region = next;
        }
    }

    /// Whether the region in this column and row has a significant coefficient of this subband.
    fn has_significant(&self, at: usize, [x, y]: [usize; 2]) -> bool {
        let map = &self.subbands[at];
        let side = REGION_SIDE >> Subband::at(map.index).level;
        let left = x * side;
        let top = y * side;
        // The columns and rows in a code block, or in each of several code blocks.
        let inside = side.min(CODE_BLOCK_SIDE);
        let blocks = side.div_ceil(CODE_BLOCK_SIDE);
        let row = 0xFF_u64 >> (CODE_BLOCK_SIDE - inside);
        let square = row * (FIRST_COLUMN >> (CODE_BLOCK_SIDE * (CODE_BLOCK_SIDE - inside)));
        let mask = square << (top % CODE_BLOCK_SIDE * CODE_BLOCK_SIDE + left % CODE_BLOCK_SIDE);
        let bx = left / CODE_BLOCK_SIDE;
        let by = top / CODE_BLOCK_SIDE;
        let across = bx..(bx + blocks).min(map.grid.across);
        let mut down = by..(by + blocks).min(map.grid.down);
        down.any(|by| across.clone().any(|bx| self.blocks[map.grid.at(bx, by)].significant & mask != 0))
    }
}

/// Turns expected magnitudes into those of the next unit, within their bound.
#[inline(always)]
fn refine(blocks: &mut [[u16; CODE_BLOCK_COEFFICIENTS]]) {
    for expected in blocks.as_flattened_mut() {
        *expected = (*expected).min(MAX_EXPECTED_MAGNITUDE) << UNIT_PLANES;
    }
}

/// Sets `cells` to `count` zeros. New memory is not written to: the system returns it as zeros.
fn zeros(cells: &mut Vec<u16>, count: usize) {
    if cells.capacity() < count {
        *cells = vec![0; count];
    } else {
        cells.clear();
        cells.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitplane::scan::{self, Cursor};
    use crate::entropy::range_coder::RangeEncoder;
    use crate::picture::Size;
    use crate::subband::coefficients::{self, Bands};

    #[test]
    fn a_slice_that_is_reset_is_as_a_new_one() {
        let model = Model::photo();
        for (width, height) in [(8, 8), (75, 50), (300, 130)] {
            let size = Size::new(width, height).expect("a valid size");
            for chroma in [ChromaFormat::None, ChromaFormat::Half, ChromaFormat::Full] {
                let mut subbands = Vec::new();
                coefficients::resize(&mut subbands, |index| coefficients::count(index, size, chroma));
                for (index, values) in subbands.iter_mut().enumerate() {
                    for (at, value) in values.iter_mut().enumerate() {
                        let odd = at * 37 + at / 50 * 11 + index;
                        *value = if odd.is_multiple_of(29) { (odd % 1000) as f32 - 500.0 } else { 0.0 };
                    }
                }
                let rows = 0..size.height();
                let mut fresh = Slice::default();
                fresh.reset(&model, chroma, size.width(), size.height());
                let mut slice = fresh.clone();
                for coded in [1, 40, 300] {
                    let bands = Bands { size, chroma, subbands: &subbands, activity: &[] };
                    let planes = slice.set_source(&model, bands, &rows, &mut Vec::new(), 0).expect("no fine planes");
                    let mut passes = 0;
                    let run = scan::run(&mut slice, &mut Cursor::new(planes), &mut RangeEncoder::new(), |_| {
                        passes += 1;
                        passes < coded
                    });
                    assert!(run.is_ok() && (coded < 300 || !slice.significant.is_empty()));
                    slice.reset(&model, chroma, size.width(), size.height());
                    let state = |slice: &Slice| {
                        let Slice { subbands, blocks, states, all, significant, levels, expected_magnitude, .. } =
                            slice;
                        assert!(levels.iter().chain(expected_magnitude).all(|value| *value == 0));
                        format!("{subbands:?} {blocks:?} {states:?} {all:?} {significant:?}")
                    };
                    assert!(state(&slice) == state(&fresh), "{size:?}, {chroma:?}, {coded} passes");
                }
            }
        }
    }
}
