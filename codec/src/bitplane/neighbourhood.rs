//! The values around a coefficient that a coding pass reads, and the updates around a coefficient that grew (spec,
//! "Contexts" and "State").

use std::hint::select_unpredictable;

use crate::bitplane::code_block::{
    self, CODE_BLOCK_COEFFICIENTS, CODE_BLOCK_SIDE, CODED_NONZERO, CodeBlock, NEAR_SIGNIFICANT, children, mark_outside,
};
use crate::bitplane::region_gains::RegionGains;
use crate::bitplane::slice::{BlockPlace, Grid, Slice, SubbandMap};
use crate::entropy::probability::Probability;
use crate::model::Weights;
use crate::subband::gains;
use crate::subband::layout::Subband;
use crate::subband::quantise::SIGN_BIT;
use crate::subband::regions::REGION_SIDE;

/// One subband in one plane, with its slice's arrays.
pub(super) struct CodingPass<'a> {
    pub(super) map: SubbandMap,
    subband: usize,
    /// The neighbours of each coefficient of a code block whose expected magnitude grows with it.
    pub(super) reached: &'static [u64; CODE_BLOCK_COEFFICIENTS],
    /// Whether these are all neighbours.
    pub(super) all_near_known: bool,
    /// The binary logarithm of the plane's step in the units of expected magnitudes.
    unit: u32,
    /// The distances from a code block's coefficient to the ones above and below: inside it, and at its border.
    rows: [[usize; 2]; 2],
    pub(super) plane: u8,
    pub(super) blocks: &'a mut [CodeBlock],
    pub(super) states: &'a mut [u8],
    pub(super) all: &'a [u16],
    significant: &'a mut Vec<BlockPlace>,
    pub(super) levels: &'a mut [u16],
    pub(super) source: &'a [u16],
    pub(super) expected_magnitude: &'a mut [u16],
    pub(super) probabilities: &'a mut [Probability],
    pub(super) gains: &'a mut RegionGains,
    /// The binary logarithm of a region's side in coefficients of the subband, if regions scale these.
    pub(super) scaled: Option<u32>,
}

/// The place of the code block that is being coded.
#[derive(Clone, Copy)]
pub(super) struct Here {
    /// Column and row among the code blocks.
    pub(super) bx: usize,
    pub(super) by: usize,
    /// Its position in the slice's code blocks.
    pub(super) at: usize,
    /// The significant coefficients at the same place in the other two bands.
    pub(super) others: [u64; 2],
    /// The place of the first coefficient's parent; that of a zero if it has none.
    pub(super) parent: usize,
    /// In an encoder: the coefficients of which the pass codes a one.
    pub(super) ones: u64,
}

impl Here {
    /// Column and row of a coefficient of the code block.
    #[inline(always)]
    pub(super) const fn coefficient(self, bit: u32) -> [usize; 2] {
        [self.bx * CODE_BLOCK_SIDE + (bit & 7) as usize, self.by * CODE_BLOCK_SIDE + (bit >> 3) as usize]
    }
}

/// For each coefficient of a code block, the distance from the first one's parent to its own.
#[expect(clippy::cast_possible_truncation, reason = "less than 64")]
static PARENT_DISTANCES: [u8; CODE_BLOCK_COEFFICIENTS] = {
    let mut parents = [0; CODE_BLOCK_COEFFICIENTS];
    let mut at = 0;
    while at < CODE_BLOCK_COEFFICIENTS {
        parents[at] = (at / (2 * CODE_BLOCK_SIDE) * CODE_BLOCK_SIDE + at % CODE_BLOCK_SIDE / 2) as u8;
        at += 1;
    }
    parents
};

/// The distance between neighbours at the border of two code blocks beside each other.
const ACROSS_BORDER: usize = CODE_BLOCK_COEFFICIENTS - (CODE_BLOCK_SIDE - 1);

/// The places next to a coefficient in the same row and in the rows above and below: left, middle and right.
struct Around {
    here: [usize; 3],
    above: [usize; 3],
    below: [usize; 3],
}

impl<'a> CodingPass<'a> {
    #[inline(always)]
    pub(super) fn new(slice: &'a mut Slice, subband: usize, plane: u8) -> Self {
        let Slice {
            subbands,
            unit,
            blocks,
            states,
            all,
            significant,
            levels,
            source,
            expected_magnitude,
            probabilities,
            gains,
            ..
        } = slice;
        let unit = *unit;
        let map = subbands[subband].in_units(unit);
        let kinds = map.kinds();
        let border = map.grid.stride * CODE_BLOCK_COEFFICIENTS - (CODE_BLOCK_SIDE - 1) * CODE_BLOCK_SIDE;
        let reached = code_block::neighbours(kinds);
        let place = Subband::at(map.index);
        let scaled = (gains.exist() && gains::scales(place)).then(|| (REGION_SIDE >> place.level).ilog2());
        Self {
            map,
            subband,
            reached,
            all_near_known: kinds == [true; 3],
            unit,
            rows: [[CODE_BLOCK_SIDE.wrapping_neg(), CODE_BLOCK_SIDE], [border.wrapping_neg(), border]],
            plane,
            blocks,
            states,
            all,
            significant,
            levels,
            source,
            expected_magnitude,
            probabilities,
            gains,
            scaled,
        }
    }

    #[inline(always)]
    pub(super) const fn here(&self, bx: usize, by: usize) -> Here {
        Here { bx, by, at: self.map.grid.at(bx, by), others: [0; 2], parent: 0, ones: 0 }
    }

    /// Notes a code block that got its first significant coefficient.
    #[expect(clippy::cast_possible_truncation, reason = "a subband has fewer than 2^16 code blocks in a row or column")]
    pub(super) fn note_significant(&mut self, here: Here) {
        self.significant.push(BlockPlace { subband: self.subband as u16, bx: here.bx as u16, by: here.by as u16 });
    }

    /// The place of a code block's coefficient in the slice's arrays.
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "callers have it at hand")]
    pub(super) const fn place(&self, here: Here, bit: u32) -> usize {
        here.at * CODE_BLOCK_COEFFICIENTS + bit as usize
    }

    /// The places around that of a code block's coefficient.
    #[inline(always)]
    fn around(&self, place: usize) -> Around {
        let bit = place % CODE_BLOCK_COEFFICIENTS;
        let column = bit % CODE_BLOCK_SIDE;
        let left = select_unpredictable(column == 0, ACROSS_BORDER, 1);
        let right = select_unpredictable(column == CODE_BLOCK_SIDE - 1, ACROSS_BORDER, 1);
        let [inside, border] = self.rows;
        let above = select_unpredictable(bit < CODE_BLOCK_SIDE, border[0], inside[0]);
        let below = select_unpredictable(bit >= CODE_BLOCK_COEFFICIENTS - CODE_BLOCK_SIDE, border[1], inside[1]);
        let row = |middle: usize| [middle.wrapping_sub(left), middle, middle.wrapping_add(right)];
        Around { here: row(place), above: row(place.wrapping_add(above)), below: row(place.wrapping_add(below)) }
    }

    /// The significant coefficients of a code block. Most code blocks are zero, and need not be read.
    #[inline(always)]
    fn significant_at(&self, at: usize) -> u64 {
        if self.states[at] & CODED_NONZERO == 0 { 0 } else { self.blocks[at].significant }
    }

    /// The significant coefficients at the code block's place in the other two bands.
    #[inline(always)]
    pub(super) fn others(&self, Here { bx, by, .. }: Here) -> [u64; 2] {
        let significant = |grid: Option<Grid>| match grid {
            Some(grid) if bx < grid.across && by < grid.down => self.significant_at(grid.at(bx, by)),
            _ => 0,
        };
        [significant(self.map.others[0]), significant(self.map.others[1])]
    }

    /// The place of the parent of a code block's first coefficient; that of a zero if there is none.
    #[inline(always)]
    pub(super) fn parent(&self, Here { bx, by, .. }: Here) -> usize {
        let quarter = CODE_BLOCK_SIDE / 2 * (bx & 1) + CODE_BLOCK_COEFFICIENTS / 2 * (by & 1);
        self.map.parent.map_or(0, |grid| grid.at(bx / 2, by / 2) * CODE_BLOCK_COEFFICIENTS + quarter)
    }

    /// The context of whether a code block is non-zero.
    #[inline(always)]
    pub(super) fn code_block_context(&self, Here { bx, by, at, others, .. }: Here) -> usize {
        let map = &self.map;
        let around = [at - 1, at + 1, at - map.grid.stride, at + map.grid.stride];
        let nonzero = around.iter().map(|&other| usize::from(self.states[other] & CODED_NONZERO)).sum();
        let parent = map.parent.map_or(0, |parent| {
            let quarter = 0x0F0F_0F0F_u64 << (4 * (bx & 1) + 32 * (by & 1));
            let px = bx / 2;
            let py = by / 2;
            let inside = px < parent.across && py < parent.down;
            if inside { (self.significant_at(parent.at(px, py)) & quarter).count_ones() } else { 0 }
        });
        let others = others.iter().map(|other| other.count_ones()).sum();
        let luma = map.luma.map(|(_, grid)| self.significant_at(grid.at(bx, by)).count_ones());
        let near = if self.states[at] & NEAR_SIGNIFICANT == 0 { 0 } else { self.blocks[at].near.count_ones() };
        map.class.code_block(near, nonzero, parent, others, luma)
    }

    /// The context of whether a coefficient becomes significant.
    #[inline(always)]
    pub(super) fn significance_context(&self, here: Here, bit: u32, must_hold_one: bool) -> usize {
        let mut cross_band: usize = here.others.iter().map(|other| usize::from(other >> bit & 1 != 0)).sum();
        if let Some((before, _)) = self.map.luma {
            cross_band = cross_band * 3 + self.steps(self.place(here, bit) - before).min(2) as usize;
        }
        self.map.class.significance(self.expected(here, bit), must_hold_one, cross_band)
    }

    /// The context of the next bit of a significant coefficient.
    #[inline(always)]
    pub(super) fn refinement_context(&self, here: Here, bit: u32) -> usize {
        let first = self.steps(self.place(here, bit)) >> 1 == 1;
        self.map.class.refinement(self.expected(here, bit), first)
    }

    /// The known magnitude at a place, in steps of this plane.
    #[inline(always)]
    fn steps(&self, place: usize) -> u32 {
        u32::from((self.levels[place] & !SIGN_BIT) >> self.plane)
    }

    /// The expected magnitude of a coefficient, in 1/64 of this plane's step: what neighbours have added to it, and the
    /// shares of its parent and of its place in the components before.
    #[inline(always)]
    fn expected(&self, here: Here, bit: u32) -> u32 {
        let place = self.place(here, bit);
        let Weights { parent, from_luma, from_u, .. } = self.map.weights;
        let of_neighbours = u32::from(self.expected_magnitude[place] >> self.unit);
        // The parent's Levels have the unit of its own last plane.
        let of_parent = self.levels[here.parent + usize::from(PARENT_DISTANCES[(bit & 63) as usize])] & !SIGN_BIT;
        let of_parent = u32::from(parent) * (u32::from(of_parent) << self.map.parent_shift >> self.plane);
        let before = |distance: Option<usize>, weight: u16| {
            distance.map_or(0, |distance| u32::from(weight) * self.steps(place - distance))
        };
        let of_luma = before(self.map.luma.map(|(distance, _)| distance), from_luma);
        of_neighbours + of_parent + of_luma + before(self.map.blue, from_u)
    }

    /// Whether a negative sign is coded as a zero, and the context.
    #[inline(always)]
    pub(super) fn sign_context(&self, place: usize) -> (bool, usize) {
        let around = self.around(place);
        let level = |at: usize| self.levels[at];
        let signs = [level(around.here[0]), level(around.here[2]), level(around.above[1]), level(around.below[1])];
        let luma = self.map.luma.map(|(before, _)| self.predicted_sign(&around, before));
        self.map.class.sign(signs, luma)
    }

    /// The sign at a place: -1, 0 or 1.
    #[inline(always)]
    fn sign_at(&self, place: usize) -> i8 {
        let level = self.levels[place];
        i8::from(level != 0) - 2 * i8::from(level & SIGN_BIT != 0)
    }

    /// Luma's sign, and the predicted one: luma's if more of the signs around agree in both components than differ.
    #[inline(always)]
    fn predicted_sign(&self, around: &Around, before: usize) -> (i8, i8) {
        let luma = self.sign_at(around.here[1] - before);
        if luma == 0 {
            return (0, 0);
        }
        // The coefficient itself has no sign yet.
        let (own, others) = (self.signs_around(around, 0), self.signs_around(around, before));
        let both = own & others & LANES_NONZERO;
        let opposite = both & (own ^ others) << 1;
        let same = both.count_ones().cast_signed() - 2 * opposite.count_ones().cast_signed();
        (
            luma,
            if same == 0 {
                0
            } else if same > 0 {
                luma
            } else {
                -luma
            },
        )
    }

    /// Packs the signs of the levels around a place, or `before` them, into lanes of 16 bits. A lane has three bits for
    /// the levels of a column that are not zero, and to the right of each the bit of a negative one.
    #[inline(always)]
    fn signs_around(&self, around: &Around, before: usize) -> u64 {
        let row = |&[left, middle, right]: &[usize; 3], row: u32| {
            let level = |place: usize| self.levels[place - before];
            let levels = packed([level(left), level(middle), level(right), 0]);
            let magnitudes = levels & LANES_MAGNITUDE;
            let negative = levels & !LANES_MAGNITUDE;
            let nonzero = (magnitudes + LANES_MAGNITUDE) & !LANES_MAGNITUDE;
            (nonzero | negative >> 1) >> (2 * row)
        };
        row(&around.above, 0) | row(&around.here, 1) | row(&around.below, 2)
    }

    /// Returns the undecided coefficients around which nothing is known.
    #[inline(always)]
    pub(super) fn unknown_around(&self, block: &CodeBlock, here: Here) -> u64 {
        let Here { bx, by, at, .. } = here;
        let Weights { parent, from_luma, from_u, .. } = self.map.weights;
        let mut known = if self.all_near_known { block.near } else { self.known_nearby(block, here) };
        if let (Some(grid), 1..) = (self.map.parent, parent) {
            known |= children(self.significant_at(grid.at(bx / 2, by / 2)), [bx & 1, by & 1]);
        }
        if let (Some((_, grid)), 1..) = (self.map.luma, from_luma) {
            known |= self.significant_at(grid.at(bx, by));
        }
        if let (Some(distance), 1..) = (self.map.blue, from_u) {
            known |= self.significant_at(at - distance / CODE_BLOCK_COEFFICIENTS);
        }
        block.undecided() & !known
    }

    /// Returns the coefficients of a code block that have a significant neighbour, where some neighbours do not count.
    #[inline(never)]
    fn known_nearby(&self, block: &CodeBlock, here: Here) -> u64 {
        let mut known = 0;
        let mut left = block.significant;
        while left != 0 {
            known |= self.reached[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        let stride = self.map.grid.stride;
        for middle in [here.at - stride, here.at, here.at + stride] {
            for other in [middle - 1, middle, middle + 1] {
                let significant = self.significant_at(other);
                mark_outside([other, stride], significant, self.map.kinds(), |at, marked| {
                    known |= if at == here.at { marked } else { 0 };
                });
            }
        }
        known
    }

    /// Makes near what is next to new significant coefficients of a code block in others.
    #[inline(always)]
    pub(super) fn mark_around(&mut self, here: Here, new: u64) {
        mark_outside([here.at, self.map.grid.stride], new, [true; 3], |at, near| {
            self.blocks[at].near |= near;
            self.states[at] |= if near != 0 { NEAR_SIGNIFICANT } else { 0 };
        });
    }

    /// In an encoder: the coefficients of the code block whose levels have any of these bits.
    #[inline(always)]
    pub(super) fn source_with(&self, here: Here, bits: u16) -> u64 {
        with(&self.source.as_chunks().0[here.at], bits)
    }

    /// Adds to the expected magnitudes of the neighbours of a coefficient that grew by one step of this plane.
    #[inline(always)]
    pub(super) fn spread(&mut self, place: usize) {
        let around = self.around(place);
        // One value at a time: a processor waits if it loads values that overlap a wider store just made.
        let weights = &self.map.weights;
        for [left, middle, right] in [around.above, around.below] {
            self.expected_magnitude[left] += weights.diagonal;
            self.expected_magnitude[middle] += weights.above;
            self.expected_magnitude[right] += weights.diagonal;
        }
        self.expected_magnitude[around.here[0]] += weights.side;
        self.expected_magnitude[around.here[2]] += weights.side;
    }
}

/// In each quarter of a number: the bits of a level's magnitude, and the non-zero bits of [`CodingPass::signs_around`].
const LANES_MAGNITUDE: u64 = 0x7FFF_7FFF_7FFF_7FFF;
const LANES_NONZERO: u64 = 0xA800_A800_A800_A800;

/// Packs four numbers into the quarters of one.
#[inline(always)]
fn packed([a, b, c, d]: [u16; 4]) -> u64 {
    u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
}

/// Sets bit i if number i of a code block has any of these bits.
#[inline(always)]
fn with(numbers: &[u16; CODE_BLOCK_COEFFICIENTS], bits: u16) -> u64 {
    let mut bytes = [0; CODE_BLOCK_COEFFICIENTS];
    for (byte, number) in bytes.iter_mut().zip(numbers) {
        *byte = u8::from(number & bits != 0);
    }
    let mut all = 0;
    for (row, eight) in bytes.as_chunks::<CODE_BLOCK_SIDE>().0.iter().enumerate() {
        // Moves the lowest bits of all bytes next to each other.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        all |= bits << (CODE_BLOCK_SIDE * row);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitplane::scan::{self, Cursor};
    use crate::entropy::range_coder::RangeEncoder;
    use crate::model::Model;
    use crate::picture::Size;
    use crate::subband::coefficients::{self, Bands};
    use crate::subband::layout::ChromaFormat;

    #[test]
    fn numbers_with_a_bit_are_found_wherever_they_are() {
        for pattern in (0..256_u64).map(|pattern| pattern.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            for value in [1, 0x7FFF, 0x8000, 0xFFFF] {
                let numbers = std::array::from_fn(|i| if pattern >> i & 1 == 1 { value } else { 0 });
                assert_eq!(with(&numbers, value), pattern);
                assert_eq!(with(&numbers, u16::MAX), pattern);
                assert_eq!(with(&numbers, !value), 0);
            }
        }
    }

    /// Some coefficients, few of which are large.
    fn sparse(size: Size, chroma: ChromaFormat) -> Vec<Vec<f32>> {
        let mut subbands = Vec::new();
        coefficients::resize(&mut subbands, |index| coefficients::count(index, size, chroma));
        for (index, values) in subbands.iter_mut().enumerate() {
            for (at, value) in values.iter_mut().enumerate() {
                let odd = at * 37 + at / 50 * 11 + index;
                *value = if odd.is_multiple_of(29) { (odd % 1000) as f32 - 500.0 } else { 0.0 };
            }
        }
        subbands
    }

    #[test]
    fn nothing_is_known_where_a_coefficient_has_no_expected_magnitude_whatever_weights_are_zero() {
        let size = Size::new(200, 130).expect("a valid size");
        let chroma = ChromaFormat::Half;
        let subbands = sparse(size, chroma);
        for zeros in 0..64 {
            let mut model = Model::clone(&Model::photo());
            for tables in &mut model.subbands {
                let Weights { side, above, diagonal, parent, from_luma, from_u } = &mut tables.weights;
                for (at, weight) in [side, above, diagonal, parent, from_luma, from_u].into_iter().enumerate() {
                    *weight = if zeros >> at & 1 == 1 { 0 } else { 3 };
                }
            }
            let mut slice = Slice::default();
            slice.reset(&model, chroma, size.width(), size.height());
            let bands = Bands { size, chroma, subbands: &subbands, activity: &[] };
            let planes =
                slice.set_source(&model, bands, &(0..size.height()), &mut Vec::new(), 0).expect("there is room");
            let mut cursor = Cursor::new(planes);
            let mut coder = RangeEncoder::new();
            let mut known = 0;
            for _ in 0..3 {
                let mut passes = 0;
                let run = scan::run(&mut slice, &mut cursor, &mut coder, |_| {
                    passes += 1;
                    passes < 170
                });
                assert!(run.is_ok() && cursor.planes > 0);
                for at in 0..slice.subbands.len() {
                    let pass = CodingPass::new(&mut slice, at, cursor.planes - 1);
                    for (bx, by) in (0..pass.down()).flat_map(|by| (0..pass.across()).map(move |bx| (bx, by))) {
                        let here = pass.here(bx, by);
                        let here = Here { parent: pass.parent(here), ..here };
                        let block = pass.blocks[here.at];
                        let unknown = pass.unknown_around(&block, here);
                        for bit in (0..64).filter(|bit| block.undecided() >> bit & 1 == 1) {
                            let expects = pass.expected(here, bit) != 0;
                            assert_eq!(unknown >> bit & 1 == 0, expects, "{zeros:b}: {bit} of {bx}, {by} in {at}");
                            known += usize::from(expects);
                        }
                    }
                }
            }
            assert!(known > 100 || zeros & 7 == 7, "{zeros:b}: {known}");
        }
    }

    #[test]
    fn the_places_around_a_coefficient_are_next_to_it() {
        let mut slice = Slice::default();
        slice.reset(&Model::photo(), ChromaFormat::Half, 300, 200);
        let at = slice.subbands.iter().position(|map| map.width > 40 && map.height > 40).expect("a large subband");
        let pass = CodingPass::new(&mut slice, at, 0);
        let grid = pass.map.grid;
        for (x, y) in (1..40).flat_map(|y| (1..40).map(move |x| (x, y))) {
            let Around { here, above, below } = pass.around(grid.place(x, y));
            for (row, y) in [(above, y - 1), (here, y), (below, y + 1)] {
                assert_eq!(row, [x - 1, x, x + 1].map(|x| grid.place(x, y)));
            }
        }
    }
}
