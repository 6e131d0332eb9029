//! Turns coefficients into a slice's Levels, and known Levels back into coefficients (spec, "Quantiser").

use std::ops::Range;

use crate::bitplane::code_block::{CODE_BLOCK_SIDE, CODED_NONZERO};
use crate::bitplane::isolated::lower_isolated;
use crate::bitplane::slice::{BlockPlace, Slice, SubbandMap};
use crate::model::Model;
use crate::subband::coefficients::Bands;
use crate::subband::gains;
use crate::subband::layout::{self, BitPlanes, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::quantise::{MAX_MAGNITUDE, MAX_PLANES, Quantiser, SIGN_BIT};
use crate::subband::regions;
use crate::subband::sparse::SparseRows;
use crate::subband::zone::Zone;

/// The marks of the three finest levels.
const FINEST_LEVEL_MARKS: [u8; 3] = [3, 2, 1];

impl Slice {
    /// Stores the Levels of these pixel rows as an encoder's source, and returns the number of their bit planes from
    /// the finest step on. If a magnitude has no room next to the planes below that step, returns `None` and leaves
    /// some Levels wrong. The slice must be empty except for its regions' rotations and gains, and have its bit planes
    /// set if some are below that step; `line` is memory for a row. Isolated coefficients in planes below
    /// `isolated_end` are [lowered](lower_isolated).
    pub(crate) fn set_source(
        &mut self,
        model: &Model,
        bands: Bands<'_>,
        rows: &Range<usize>,
        line: &mut Vec<f32>,
        isolated_end: u8,
    ) -> Option<u8> {
        let width = bands.size.width();
        let height = bands.size.height();
        let bit_planes = self.planes;
        let mut planes = 0;
        // Only its places outside subbands are not written below.
        self.source.resize(self.levels.len(), 0);
        let source = self.source.as_chunks_mut::<CODE_BLOCK_SIDE>().0;
        for map in &mut self.subbands {
            let subband = Subband::at(map.index);
            let fine = bit_planes.fine_at(subband.level);
            let quantiser = Quantiser::new(model.subbands[map.index].fine_step(fine));
            let own = layout::rows(subband, height, rows);
            let stride = subband.size(width, height).0;
            let rotated = self.rotations.source().filter(|_| regions::rotates(subband));
            let scaled = self.gains.source().filter(|_| gains::scales(subband));
            for y in 0..map.height {
                let row = |index: usize| &bands.subbands[index][(own.start + y) * stride..][..map.width];
                let values = if rotated.is_some() || scaled.is_some() {
                    line.clear();
                    line.extend(row(map.index));
                    if let Some((matrices, across)) = rotated {
                        let three = [0, 1, 2].map(|other| row(layout::sibling(map.index, other)));
                        regions::rotate(matrices, across, subband, y, three, line);
                    }
                    if let Some((gains, across)) = scaled {
                        gains::apply(gains, across, subband, y, line);
                    }
                    line.as_slice()
                } else {
                    row(map.index)
                };
                // After the last level of the row there are zeros.
                self.row.clear();
                self.row.resize(map.width.next_multiple_of(CODE_BLOCK_SIDE), 0);
                quantiser.levels(values, &mut self.row[..map.width]);
                if bit_planes.fine > 0 && self.row.iter().any(|level| level & !SIGN_BIT == MAX_MAGNITUDE) {
                    return None;
                }
                let first = map.grid.at(0, y / CODE_BLOCK_SIDE);
                let rows = source[first * CODE_BLOCK_SIDE + y % CODE_BLOCK_SIDE..].iter_mut().step_by(CODE_BLOCK_SIDE);
                for ((eight, row), all) in self.row.as_chunks().0.iter().zip(rows).zip(&mut self.all[first..]) {
                    *row = *eight;
                    let or = eight.iter().fold(0, |or, level| or | level) & !SIGN_BIT;
                    *all |= or;
                    map.all |= or;
                }
            }
            if isolated_end > 0 {
                map.all =
                    lower_isolated(source.as_flattened_mut().as_chunks_mut().0, &mut self.all, &map.grid, isolated_end);
            }
            let bits = (1..=MAX_PLANES).rev().find(|plane| map.all >> (plane - 1) != 0).unwrap_or(0);
            planes = planes.max(bits.saturating_sub(fine));
        }
        Some(planes)
    }

    /// Forgets an encoder's source and sets the bit planes of the next one.
    pub(crate) fn clear_source(&mut self, planes: BitPlanes) {
        self.subbands.iter_mut().for_each(|map| map.all = 0);
        self.all.fill(0);
        self.set_planes(planes);
    }

    /// Whether an encoder's source has a Level other than zero.
    pub(crate) fn has_source(&self) -> bool {
        self.subbands.iter().any(|map| map.all != 0)
    }

    /// Writes the known coefficients into this slice's rows of every subband, by index, with the rotations and gains of
    /// its regions undone. Rows of subbands that are not `used` are zero.
    pub(crate) fn write_to(&self, model: &Model, out: &mut [&mut [f32]; SUBBAND_COUNT], used: &[bool; SUBBAND_COUNT]) {
        self.write_values(out, used, |index| {
            let tables = &model.subbands[index];
            let fine = self.planes.fine_at(Subband::at(index).level);
            let (step, points) = (tables.fine_step(fine), tables.reconstruction_points(fine));
            move |magnitude, plane| f32::from(magnitude) * step + points[plane]
        });
        let width = |index: usize| self.subbands.iter().find(|map| map.index == index).map_or(1, |map| map.width);
        self.rotations.known().undo(width, out);
        self.gains.undo(width, out);
    }

    /// Writes the known values into this slice's rows of every subband, by index, all of which are zero. `quantiser`
    /// takes a subband's index and returns the function from a magnitude and its known plane to the value.
    pub(crate) fn write_sparse<T: Signed, V: Fn(u16, usize) -> T>(
        &self,
        out: &mut [SparseRows<'_, T>; SUBBAND_COUNT],
        quantiser: impl Fn(usize) -> V,
    ) {
        for BlockPlace { subband, bx, by } in &self.significant {
            let map = &self.subbands[usize::from(*subband)];
            let out = &mut out[map.index];
            let value = quantiser(map.index);
            self.write_block(map, [*bx, *by].map(usize::from), &value, |at, value| out.set(at, value));
        }
    }

    /// As [`Slice::write_sparse`], into plain rows with arbitrary values. Rows of subbands that are not `used` are
    /// zero.
    pub(crate) fn write_values<T: Signed, V: Fn(u16, usize) -> T>(
        &self,
        out: &mut [&mut [T]; SUBBAND_COUNT],
        used: &[bool; SUBBAND_COUNT],
        quantiser: impl Fn(usize) -> V,
    ) {
        for map in &self.subbands {
            let out = &mut *out[map.index];
            let used = used[map.index];
            if !map.nonzero {
                if used {
                    out.fill(T::default());
                }
                continue;
            }
            let value = quantiser(map.index);
            // One row of blocks after another, while it is in a cache.
            for (by, out) in out.chunks_mut((CODE_BLOCK_SIDE * map.width).max(1)).enumerate() {
                if used {
                    out.fill(T::default());
                }
                for bx in 0..map.grid.across {
                    self.write_block(map, [bx, by], &value, |[x, y], value| {
                        out[(y - by * CODE_BLOCK_SIDE) * map.width + x] = value;
                    });
                }
            }
        }
    }

    /// Calls `set` for the known values of a code block, with their columns and rows in the subband.
    #[inline(always)]
    fn write_block<T: Signed>(
        &self,
        map: &SubbandMap,
        [bx, by]: [usize; 2],
        value: &impl Fn(u16, usize) -> T,
        mut set: impl FnMut([usize; 2], T),
    ) {
        let block = &self.blocks[map.grid.at(bx, by)];
        let mut left = block.significant;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let x = bx * CODE_BLOCK_SIDE + (bit & 7) as usize;
            let y = by * CODE_BLOCK_SIDE + (bit >> 3) as usize;
            let plane = usize::from(block.plane) - usize::from(block.visited >> bit & 1 != 0);
            let level = self.levels[map.grid.place(x, y)];
            set([x, y], value(level & !SIGN_BIT, plane).signed(level & SIGN_BIT != 0));
        }
    }

    /// Writes the limits of this slice's coefficients in a zone's subband: 0 for significant ones. Others have that of
    /// `limits` for the plane from which on all unknown coefficients of their code block are zero. The slice begins with
    /// row `first` of pixels, and `planes` of its planes are not finished.
    pub(crate) fn write_limits(
        &self,
        (zone, index): (&Zone, usize),
        (first, planes): (usize, u8),
        limits: &[i16; MAX_PLANES as usize + 1],
        out: &mut [i16],
    ) {
        let Some(map) = self.subbands.iter().find(|map| map.index == index) else { return };
        let subband = Subband::at(index);
        let rows = zone.rows_in(subband);
        let own = first >> subband.level..(first >> subband.level) + map.height;
        for y in rows.start.max(own.start)..rows.end.min(own.end) {
            let (row, y) = (y - rows.start, y - own.start);
            let first = map.grid.at(0, y / CODE_BLOCK_SIDE);
            let shift = y % CODE_BLOCK_SIDE * CODE_BLOCK_SIDE;
            for (at, out) in (first..).zip(out[row * map.width..][..map.width].chunks_mut(CODE_BLOCK_SIDE)) {
                let block = &self.blocks[at];
                let plane = if self.states[at] & CODED_NONZERO != 0 { block.plane } else { planes };
                out.fill(limits[usize::from(plane)]);
                let mut known = block.significant >> shift & 0xFF;
                while known != 0 {
                    out[known.trailing_zeros() as usize] = 0;
                    known &= known - 1;
                }
            }
        }
    }

    /// Marks, by component, the blocks of 4 x 4 samples of this slice in which a coefficient of the component's three
    /// finest levels is significant: with 3 for the finest, down to 1. A row has `across` blocks.
    pub(crate) fn write_significance(&self, chroma: ChromaFormat, across: [usize; 3], out: &mut [&mut [u8]; 3]) {
        for BlockPlace { subband, bx, by } in &self.significant {
            let map = &self.subbands[usize::from(*subband)];
            let Subband { component, level, .. } = Subband::at(map.index);
            let level = level + 1 - chroma.finest_level(component);
            let Some(mark) = FINEST_LEVEL_MARKS.get(level - 1).copied() else { continue };
            let place = [*bx, *by].map(usize::from);
            let significant = self.blocks[map.grid.at(place[0], place[1])].significant;
            let marks = Marks { out: &mut *out[component], across: across[component], mark };
            match level {
                1 => marks.of_two_by_two(significant, place),
                2 => marks.of_each(significant, place),
                _ => marks.of_four_each(significant, place),
            }
        }
    }

    /// Returns an encoder's source by subband, row by row.
    #[cfg(feature = "training")]
    pub(crate) fn source_levels(&self) -> Vec<Vec<i16>> {
        let mut out = vec![Vec::new(); SUBBAND_COUNT];
        for map in &self.subbands {
            let levels = (0..map.height).flat_map(|y| (0..map.width).map(move |x| map.grid.place(x, y)));
            let signed = |level: u16| (level & !SIGN_BIT).cast_signed() * if level & SIGN_BIT != 0 { -1 } else { 1 };
            out[map.index] = levels.map(|place| signed(self.source[place])).collect();
        }
        out
    }
}

/// The blocks to mark, `across` in a row, and the mark.
struct Marks<'a> {
    out: &'a mut [u8],
    across: usize,
    mark: u8,
}

impl Marks<'_> {
    /// Marks one block for two by two coefficients of a code block.
    fn of_two_by_two(mut self, significant: u64, [bx, by]: [usize; 2]) {
        let wide = significant | significant >> 1;
        let both = wide | wide >> CODE_BLOCK_SIDE;
        for row in 0..CODE_BLOCK_SIDE / 2 {
            let bits = both >> (2 * CODE_BLOCK_SIDE * row);
            let four = bits & 1 | bits >> 1 & 2 | bits >> 2 & 4 | bits >> 3 & 8;
            self.row(four, [4 * bx, 4 * by + row]);
        }
    }

    /// Marks one block for each coefficient of a code block.
    fn of_each(mut self, significant: u64, [bx, by]: [usize; 2]) {
        for row in 0..CODE_BLOCK_SIDE {
            self.row(significant >> (CODE_BLOCK_SIDE * row) & 0xFF, [8 * bx, 8 * by + row]);
        }
    }

    /// Marks two by two blocks for each coefficient of a code block.
    fn of_four_each(mut self, significant: u64, [bx, by]: [usize; 2]) {
        for row in 0..CODE_BLOCK_SIDE {
            let eight = significant >> (CODE_BLOCK_SIDE * row) & 0xFF;
            for (half, four) in [eight & 0xF, eight >> 4].into_iter().enumerate() {
                let spread = (four | four << 2) & 0x33;
                let spread = (spread | spread << 1) & 0x55;
                for line in 0..2 {
                    self.row(spread | spread << 1, [16 * bx + 8 * half, 16 * by + 2 * row + line]);
                }
            }
        }
    }

    /// Marks those of eight blocks from this one on whose bit is set, as far as the row goes.
    fn row(&mut self, bits: u64, [x, y]: [usize; 2]) {
        if bits == 0 || x >= self.across {
            return;
        }
        let first = y * self.across + x;
        let end = (y + 1) * self.across;
        let row = self.out.get_mut(first..end).unwrap_or_default();
        // Bit i to byte i.
        let apart = bits.wrapping_mul(EACH_BYTE) & 0x8040_2010_0804_0201;
        let chosen = ((apart + 0x7F7F_7F7F_7F7F_7F7F) | apart) >> 7 & EACH_BYTE;
        let marks = (chosen * u64::from(self.mark)).to_le_bytes();
        if let Some(row) = row.first_chunk_mut::<8>() {
            *row = std::array::from_fn(|at| row[at].max(marks[at]));
        } else {
            row.iter_mut().zip(marks).for_each(|(block, mark)| *block = (*block).max(mark));
        }
    }
}

/// One in each byte.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// Values whose sign is applied without a branch, because it is unpredictable.
pub(crate) trait Signed: Copy + Default {
    /// Returns this value, or its opposite if `negative`.
    fn signed(self, negative: bool) -> Self;
}

impl Signed for f32 {
    #[inline(always)]
    fn signed(self, negative: bool) -> Self {
        Self::from_bits(self.to_bits() ^ u32::from(negative) << 31)
    }
}

/// Modulo 2^32.
impl Signed for i32 {
    #[inline(always)]
    fn signed(self, negative: bool) -> Self {
        (self ^ -Self::from(negative)).wrapping_add(Self::from(negative))
    }
}
