//! The values around a coefficient that a coding pass reads, and the updates around a coefficient that grew (spec,
//! "Contexts" and "State").

use std::hint::select_unpredictable;

use crate::bitplane::code_block::{self, CODE_BLOCK_COEFFICIENTS, CODE_BLOCK_SIDE, CodeBlock, NEAR, NONZERO, children, mark_outside};
use crate::bitplane::region_gains::RegionGains;
use crate::bitplane::slice::{BlockPlace, Grid, Slice, SubbandMap};
use crate::entropy::probability::Probability;
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
        let Slice { subbands, unit, blocks, states, all, significant, levels, source, expected_magnitude, probabilities, gains, .. } =
            slice;
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
        Here { bx, by, at: self.map.grid.at(bx, by), others: [0; 2], ones: 0 }
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
        if self.states[at] & NONZERO == 0 { 0 } else { self.blocks[at].significant }
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

    /// The context of whether a code block is non-zero.
    #[inline(always)]
    pub(super) fn code_block_context(&self, Here { bx, by, at, others, .. }: Here) -> usize {
        let map = &self.map;
        let around = [at - 1, at + 1, at - map.grid.stride, at + map.grid.stride];
        let nonzero = around.iter().map(|&other| usize::from(self.states[other] & NONZERO)).sum();
        let parent = map.parent.map_or(0, |parent| {
            let quarter = 0x0F0F_0F0F_u64 << (4 * (bx & 1) + 32 * (by & 1));
            let px = bx / 2;
            let py = by / 2;
            let inside = px < parent.across && py < parent.down;
            if inside { (self.significant_at(parent.at(px, py)) & quarter).count_ones() } else { 0 }
        });
        let others = others.iter().map(|other| other.count_ones()).sum();
        let luma = map.luma.map(|(_, grid)| self.significant_at(grid.at(bx, by)).count_ones());
        let near = if self.states[at] & NEAR == 0 { 0 } else { self.blocks[at].near.count_ones() };
        map.class.code_block(near, nonzero, parent, others, luma)
    }

    /// The context of whether a coefficient becomes significant.
    #[inline(always)]
    pub(super) fn significance_context(&self, here: Here, bit: u32, must_hold_one: bool) -> usize {
        let place = self.place(here, bit);
        let mut cross_band: usize = here.others.iter().map(|other| usize::from(other >> bit & 1 != 0)).sum();
        if let Some((before, _)) = self.map.luma {
            cross_band = cross_band * 3 + usize::from((self.levels[place - before] & !SIGN_BIT) >> self.plane).min(2);
        }
        self.map.class.significance(self.expected_magnitude[place] >> self.unit, must_hold_one, cross_band)
    }

    /// The context of the next bit of a significant coefficient.
    #[inline(always)]
    pub(super) fn refinement_context(&self, place: usize) -> usize {
        let first = (self.levels[place] & !SIGN_BIT) >> (self.plane + 1) == 1;
        self.map.class.refinement(self.expected_magnitude[place] >> self.unit, first)
    }

    /// Whether a negative sign is coded as a zero, and the context.
    #[inline(always)]
    pub(super) fn sign_context(&self, place: usize) -> (bool, usize) {
        let around = self.around(place);
        let signs = [around.here[0], around.here[2], around.above[1], around.below[1]].map(|at| self.levels[at]);
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
        let [own, others] = [0, before].map(|before| self.signs_around(around, before));
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
        let row = |places: &[usize; 3], row: u32| {
            let [left, middle, right] = places.map(|place| self.levels[place - before]);
            let levels = packed([left, middle, right, 0]);
            let magnitudes = levels & LANES_MAGNITUDE;
            let negative = levels & !LANES_MAGNITUDE;
            let nonzero = (magnitudes + LANES_MAGNITUDE) & !LANES_MAGNITUDE;
            (nonzero | negative >> 1) >> (2 * row)
        };
        row(&around.above, 0) | row(&around.here, 1) | row(&around.below, 2)
    }

    /// Returns those of these coefficients around which nothing is known.
    #[inline(always)]
    pub(super) const fn unknown_around(&self, block: &CodeBlock, mask: u64) -> u64 {
        let near = if self.all_near_known { block.near } else { 0 };
        mask & !(block.known | near)
    }

    /// Marks what is near new significant coefficients of a code block in others, and around what something is known.
    #[inline(never)]
    pub(super) fn mark_around(&mut self, here: Here, new: u64) {
        let map = &self.map;
        let place = [here.at, map.grid.stride];
        mark_outside(place, new, [true; 3], |at, near| {
            self.blocks[at].near |= near;
            self.states[at] |= if near != 0 { NEAR } else { 0 };
        });
        if !self.all_near_known {
            mark_outside(place, new, map.kinds(), |at, known| self.blocks[at].known |= known);
        }
        if let Some((grid, 1..)) = map.child {
            for (y, row) in children(new).into_iter().enumerate() {
                let first = grid.at(2 * here.bx, 2 * here.by + y);
                for (block, known) in self.blocks[first..].iter_mut().zip(row) {
                    block.known |= known;
                }
            }
        }
        for follower in map.followers {
            if let Some((offset, 1..)) = follower {
                self.blocks[here.at + offset / CODE_BLOCK_COEFFICIENTS].known |= new;
            }
        }
    }

    /// In an encoder: the coefficients of the code block whose levels have any of these bits.
    #[inline(always)]
    pub(super) fn source_with(&self, here: Here, bits: u16) -> u64 {
        with(&self.source.as_chunks().0[here.at], bits)
    }

    /// Adds to the expected magnitudes around a coefficient that grew by one step of this plane: those of neighbours,
    /// children and other components.
    #[inline(always)]
    pub(super) fn spread(&mut self, here: Here, bit: u32, place: usize) {
        let around = self.around(place);
        let map = &self.map;
        // One value at a time: a processor waits if it loads values that overlap a wider store just made.
        let weights = &map.weights;
        for [left, middle, right] in [around.above, around.below] {
            self.expected_magnitude[left] += weights.diagonal;
            self.expected_magnitude[middle] += weights.above;
            self.expected_magnitude[right] += weights.diagonal;
        }
        self.expected_magnitude[around.here[0]] += weights.side;
        self.expected_magnitude[around.here[2]] += weights.side;
        if let Some((grid, weight)) = map.child {
            let [x, y] = here.coefficient(bit);
            let square: &mut [u16; CODE_BLOCK_SIDE + 2] =
                self.expected_magnitude[grid.place(2 * x, 2 * y)..].first_chunk_mut().expect("a code block's rows");
            square[0] += weight;
            square[1] += weight;
            square[CODE_BLOCK_SIDE] += weight;
            square[CODE_BLOCK_SIDE + 1] += weight;
        }
        if let Some((offset, weight)) = map.followers[0] {
            self.expected_magnitude[place + offset] += weight;
        }
        if let Some((offset, weight)) = map.followers[1] {
            self.expected_magnitude[place + offset] += weight;
        }
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
    use crate::model::Model;
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
