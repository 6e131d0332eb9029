//! The values around a coefficient that a coding pass reads, and the updates around a coefficient that grew (spec,
//! "Contexts" and "State").

use crate::bitplane::code_block::{self, CODE_BLOCK_SIDE, CodeBlock};
use crate::bitplane::slice::{BlockPlace, Grid, Slice, SubbandMap};
use crate::entropy::probability::Probability;
use crate::model::Weights;
use crate::subband::quantise::SIGN_BIT;

/// One subband in one plane, with its slice's arrays.
pub(super) struct CodingPass<'a> {
    pub(super) map: SubbandMap,
    subband: usize,
    offsets: &'a Offsets,
    /// The neighbours of each coefficient of a code block whose expected magnitude grows with it.
    pub(super) reached: &'static [u64; CODE_BLOCK_SIDE * CODE_BLOCK_SIDE],
    pub(super) plane: u8,
    pub(super) blocks: &'a mut [CodeBlock],
    significant: &'a mut Vec<BlockPlace>,
    pub(super) levels: &'a mut [u16],
    pub(super) source: &'a [u16],
    pub(super) expected_magnitude: &'a mut [u16],
    pub(super) probabilities: &'a mut [Probability],
}

/// The place of the code block that is being coded.
#[derive(Clone, Copy)]
pub(super) struct Here {
    /// Column and row among the code blocks.
    pub(super) bx: usize,
    pub(super) by: usize,
    /// Its position in the slice's code blocks, and its first coefficient's in the other arrays.
    pub(super) at: usize,
    pub(super) corner: usize,
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

/// The distances from the first coefficient of a code block to each.
pub(super) type Offsets = [u32; CODE_BLOCK_SIDE * CODE_BLOCK_SIDE];

/// The distances in a subband whose rows are `stride` apart.
pub(super) fn offsets(stride: usize) -> Offsets {
    // A row has fewer than 2^15 values.
    let offset = |bit: usize| bit / CODE_BLOCK_SIDE * stride + bit % CODE_BLOCK_SIDE;
    std::array::from_fn(|bit| u32::try_from(offset(bit)).unwrap_or(u32::MAX))
}

impl<'a> CodingPass<'a> {
    /// `offsets` are those of the subband.
    #[inline(always)]
    pub(super) fn new(slice: &'a mut Slice, offsets: &'a Offsets, subband: usize, plane: u8) -> Self {
        let Slice { subbands, blocks, significant, levels, source, expected_magnitude, probabilities, .. } = slice;
        let map = subbands[subband];
        let Weights { side, above, diagonal, .. } = map.weights;
        let reached = code_block::neighbours([side, above, diagonal].map(|weight| weight != 0));
        Self {
            map,
            subband,
            offsets,
            reached,
            plane,
            blocks,
            significant,
            levels,
            source,
            expected_magnitude,
            probabilities,
        }
    }

    #[inline(always)]
    pub(super) const fn here(&self, bx: usize, by: usize) -> Here {
        let corner = self.map.origin + by * CODE_BLOCK_SIDE * self.map.stride + bx * CODE_BLOCK_SIDE;
        Here { bx, by, at: self.map.grid.at(bx, by), corner, others: [0; 2], ones: 0 }
    }

    /// Notes a code block that got its first significant coefficient.
    #[expect(clippy::cast_possible_truncation, reason = "a subband has fewer than 2^16 code blocks in a row or column")]
    pub(super) fn note_significant(&mut self, here: Here) {
        self.significant.push(BlockPlace { subband: self.subband as u16, bx: here.bx as u16, by: here.by as u16 });
    }

    /// The place of a code block's coefficient in the slice's arrays.
    #[inline(always)]
    pub(super) const fn place(&self, here: Here, bit: u32) -> usize {
        here.corner + self.offsets[(bit & 63) as usize] as usize
    }

    /// The significant coefficients at the code block's place in the other two bands.
    #[inline(always)]
    pub(super) fn others(&self, Here { bx, by, .. }: Here) -> [u64; 2] {
        let significant = |grid: Option<Grid>| match grid {
            Some(grid) if bx < grid.across && by < grid.down => self.blocks[grid.at(bx, by)].significant,
            _ => 0,
        };
        [significant(self.map.others[0]), significant(self.map.others[1])]
    }

    /// The context of whether a code block is non-zero.
    #[inline(always)]
    pub(super) fn code_block_context(&self, block: &CodeBlock, Here { bx, by, at, others, .. }: Here) -> usize {
        let map = &self.map;
        let blocks = &*self.blocks;
        let around = [at - 1, at + 1, at - map.grid.stride, at + map.grid.stride];
        let nonzero = around.iter().filter(|&&other| blocks[other].nonzero).count();
        let parent = map.parent.map_or(0, |parent| {
            let quarter = 0x0F0F_0F0F_u64 << (4 * (bx & 1) + 32 * (by & 1));
            let px = bx / 2;
            let py = by / 2;
            let inside = px < parent.across && py < parent.down;
            if inside { (blocks[parent.at(px, py)].significant & quarter).count_ones() } else { 0 }
        });
        let others = others.iter().map(|other| other.count_ones()).sum();
        let luma = map.luma.map(|(_, grid)| blocks[grid.at(bx, by)].significant.count_ones());
        map.class.code_block(block.near.count_ones(), nonzero, parent, others, luma)
    }

    /// The context of whether a coefficient becomes significant.
    #[inline(always)]
    pub(super) fn significance_context(&self, here: Here, bit: u32, must_hold_one: bool) -> usize {
        let place = self.place(here, bit);
        let mut cross_band: usize = here.others.iter().map(|other| usize::from(other >> bit & 1 != 0)).sum();
        if let Some((before, _)) = self.map.luma {
            cross_band = cross_band * 3 + usize::from((self.levels[place - before] & !SIGN_BIT) >> self.plane).min(2);
        }
        self.map.class.significance(self.expected_magnitude[place], must_hold_one, cross_band)
    }

    /// The context of the next bit of a significant coefficient.
    #[inline(always)]
    pub(super) fn refinement_context(&self, place: usize) -> usize {
        let first = (self.levels[place] & !SIGN_BIT) >> (self.plane + 1) == 1;
        self.map.class.refinement(self.expected_magnitude[place], first)
    }

    /// Whether a negative sign is coded as a zero, and the context.
    #[inline(always)]
    pub(super) fn sign_context(&self, place: usize) -> (bool, usize) {
        let stride = self.map.stride;
        let around = [place - 1, place + 1, place - stride, place + stride].map(|at| self.levels[at]);
        let luma = self.map.luma.map(|(before, _)| self.predicted_sign(place, before));
        self.map.class.sign(around, luma)
    }

    /// The sign at a place: -1, 0 or 1.
    #[inline(always)]
    fn sign_at(&self, place: usize) -> i8 {
        let level = self.levels[place];
        i8::from(level != 0) - 2 * i8::from(level & SIGN_BIT != 0)
    }

    /// Luma's sign, and the predicted one: luma's if more of the signs around agree in both components than differ.
    #[inline(always)]
    fn predicted_sign(&self, place: usize, before: usize) -> (i8, i8) {
        let luma = self.sign_at(place - before);
        if luma == 0 {
            return (0, 0);
        }
        let above = place - self.map.stride - 1;
        // The coefficient itself has no sign yet.
        let [own, others] = [above, above - before].map(|above| self.signs_around(above));
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

    /// Packs the signs of three rows of three levels, the first of which is at `above`, into lanes of 16 bits. For each
    /// row a lane has three bits for the levels that are not zero, and to the right of each the bit of a negative one.
    #[inline(always)]
    fn signs_around(&self, above: usize) -> u64 {
        let row = |row: usize| {
            let three: &[u16; 3] =
                self.levels[above + row * self.map.stride..].first_chunk().expect("the arrays' margin");
            let levels = packed([three[0], three[1], three[2], 0]);
            let magnitudes = levels & LANES_MAGNITUDE;
            let negative = levels & !LANES_MAGNITUDE;
            let nonzero = (magnitudes + LANES_MAGNITUDE) & !LANES_MAGNITUDE;
            (nonzero | negative >> 1) >> (2 * row)
        };
        row(0) | row(1) | row(2)
    }

    /// Returns those of these coefficients around which nothing is known.
    #[inline(always)]
    pub(super) fn unknown_around(&self, here: Here, mask: u64) -> u64 {
        let mut unknown = 0;
        for (row, at) in (here.corner..).step_by(self.map.stride).take(CODE_BLOCK_SIDE).enumerate() {
            let of_row = 0xFF << (CODE_BLOCK_SIDE * row);
            if mask & of_row != 0 {
                let eight = self.expected_magnitude[at..].first_chunk().expect("the arrays' margin");
                unknown |= zeros(eight) << (CODE_BLOCK_SIDE * row);
            }
        }
        mask & unknown
    }

    /// In an encoder: the coefficients of the code block whose levels have any of these bits.
    #[inline(always)]
    pub(super) fn source_with(&self, here: Here, bits: u16) -> u64 {
        let mut ones = 0;
        for (row, at) in (here.corner..).step_by(self.map.stride).take(CODE_BLOCK_SIDE).enumerate() {
            let Some(eight) = self.source.get(at..).and_then(|rest| rest.first_chunk()) else { break };
            ones |= nonzero(eight, bits) << (CODE_BLOCK_SIDE * row);
        }
        ones
    }

    /// Adds to the expected magnitudes around a coefficient that grew by one step of this plane: those of neighbours,
    /// children and other components.
    #[inline(always)]
    pub(super) fn spread(&mut self, here: Here, bit: u32, place: usize) {
        let map = &self.map;
        let before = place - 1;
        // One value at a time: a processor waits if it loads values that overlap a wider store just made.
        let weights = &map.weights;
        for row in [before - map.stride, before + map.stride] {
            let three: &mut [u16; 3] = self.expected_magnitude[row..].first_chunk_mut().expect("the arrays' margin");
            three[0] += weights.diagonal;
            three[1] += weights.above;
            three[2] += weights.diagonal;
        }
        let three: &mut [u16; 3] = self.expected_magnitude[before..].first_chunk_mut().expect("the arrays' margin");
        three[0] += weights.side;
        three[2] += weights.side;
        if let Some((origin, stride, weight)) = map.child {
            let [x, y] = here.coefficient(bit);
            let at = origin + 2 * y * stride + 2 * x;
            for row in [at, at + stride] {
                let two: &mut [u16; 2] = self.expected_magnitude[row..].first_chunk_mut().expect("the arrays' margin");
                two[0] += weight;
                two[1] += weight;
            }
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

/// Sets bit i if number i has any of these bits.
#[inline(always)]
fn nonzero(eight: &[u16; CODE_BLOCK_SIDE], bits: u16) -> u64 {
    let bytes = eight.map(|number| u8::from(number & bits != 0));
    // Moves the lowest bits of all bytes next to each other.
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Sets bit i if number i is zero.
#[inline(always)]
fn zeros([a, b, c, d, e, f, g, h]: &[u16; CODE_BLOCK_SIDE]) -> u64 {
    const LOW_15_BITS: u64 = 0x7FFF_7FFF_7FFF_7FFF;
    let others = |four: u64| ((four & LOW_15_BITS) + LOW_15_BITS) | four;
    let first = others(packed([*a, *b, *c, *d])) >> 15;
    let last = others(packed([*e, *f, *g, *h])) >> 11;
    let others = first & 0x0001_0001_0001_0001 | last & 0x0010_0010_0010_0010;
    // Moves bits 0, 16, 32 and 48 next to each other, and bits 4, 20, 36 and 52 after them.
    !(others.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) & 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_found_wherever_they_are() {
        for pattern in 0..256_u64 {
            for value in [1, 0x7FFF, 0x8000, 0xFFFF] {
                let eight = std::array::from_fn(|i| if pattern >> i & 1 == 1 { 0 } else { value });
                assert_eq!(zeros(&eight), pattern);
                assert_eq!(nonzero(&eight, value), !pattern & 0xFF);
                assert_eq!(nonzero(&eight, !value), 0);
            }
        }
    }
}
