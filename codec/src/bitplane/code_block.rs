//! A code block: eight by eight coefficients of a subband. Its flags are the bits of a `u64`, row by row.
//!
//! Prior art: the blocks are those of zero-block coders, which code an empty block as one symbol (Hsiang and Woods,
//! EZBC, ISCAS 2000; the sub-blocks of Taubman, EBCOT, 2000, section III-C). They are not the code blocks of JPEG 2000,
//! each of which is a stream of its own.

/// Side of a code block, in coefficients.
pub(crate) const CODE_BLOCK_SIDE: usize = 8;
/// The coefficients of a code block, which are next to each other in memory, row by row.
pub(crate) const CODE_BLOCK_COEFFICIENTS: usize = CODE_BLOCK_SIDE * CODE_BLOCK_SIDE;

const COLUMN_FIRST: u64 = 0x0101_0101_0101_0101;
const COLUMN_LAST: u64 = COLUMN_FIRST << 7;
/// Coefficients with a neighbour in another code block.
const CODE_BLOCK_RIM_MASK: u64 = 0xFF81_8181_8181_81FF;
/// The neighbours of each coefficient within its code block: by the sum of 1 for the left and right ones, 2 for the
/// upper and lower ones, and 4 for diagonal ones, then by coefficient.
static NEIGHBOUR_MASKS: [[u64; 64]; 8] = {
    let mut masks = [[0; 64]; 8];
    let mut at = 0;
    while at < 8 * 64 {
        let kinds = at / 64;
        let bit = at % 64;
        let own = 1 << bit;
        let horizontal = horizontal(1 << bit);
        let above = own << 8 | own >> 8;
        let all = [horizontal, above, horizontal << 8 | horizontal >> 8];
        let mut kind = 0;
        while kind < 3 {
            if kinds >> kind & 1 != 0 {
                masks[kinds][bit] |= all[kind];
            }
            kind += 1;
        }
        at += 1;
    }
    masks
};
const ALL_NEIGHBOURS: usize = 7;

/// Returns the neighbours of each coefficient within its code block: left and right, above and below, diagonal ones.
pub(crate) fn neighbours([horizontal, above, diagonal]: [bool; 3]) -> &'static [u64; 64] {
    &NEIGHBOUR_MASKS[usize::from(horizontal) + 2 * usize::from(above) + 4 * usize::from(diagonal)]
}

/// The state of a code block that both sides know.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CodeBlock {
    /// Coefficients that exist.
    pub(crate) valid: u64,
    /// Known to be non-zero.
    pub(crate) significant: u64,
    /// Next to a significant one.
    pub(crate) near: u64,
    /// Coded in the current plane.
    pub(crate) visited: u64,
    /// The plane to which its significant coefficients are known; visited ones are known to the next finer one.
    pub(crate) plane: u8,
    /// Became [`CODED_NONZERO`] in the current plane.
    pub(crate) nonzero_since_plane: bool,
}

// The states of a code block are the bits of a byte, apart from the others: passes read no more of most code blocks.

/// Coded as containing a non-zero coefficient.
pub(crate) const CODED_NONZERO: u8 = 1;
/// Some coefficients are near a significant one of another code block.
pub(crate) const NEAR_SIGNIFICANT: u8 = 2;
/// Coded as zero in the current plane.
pub(crate) const ZERO_IN_PLANE: u8 = 4;

impl CodeBlock {
    /// Closes the current plane, to which all significant coefficients are now known.
    #[inline(always)]
    pub(crate) const fn finish_plane(&mut self, plane: u8) {
        self.visited = 0;
        self.nonzero_since_plane = false;
        self.plane = plane;
    }

    /// Returns whether it became non-zero in the current plane and has no significant coefficient yet.
    #[inline(always)]
    pub(crate) const fn must_hold_one(&self) -> bool {
        self.nonzero_since_plane && self.significant == 0
    }

    /// Makes the coefficient at `bit` significant: its neighbours in this code block become near.
    #[inline(always)]
    pub(crate) fn mark_significant(&mut self, bit: u32) {
        self.significant |= 1 << bit;
        self.near |= NEIGHBOUR_MASKS[ALL_NEIGHBOURS][(bit & 63) as usize];
    }

    /// The coefficients that the significance pass codes.
    #[inline(always)]
    pub(crate) const fn candidates(&self) -> u64 {
        self.near & self.undecided()
    }

    /// The coefficients whose significance is not coded yet in the current plane.
    #[inline(always)]
    pub(crate) const fn undecided(&self) -> u64 {
        self.valid & !(self.significant | self.visited)
    }

    /// The coefficients that were significant before the current plane and are not refined in it yet.
    #[inline(always)]
    pub(crate) const fn unrefined(&self) -> u64 {
        self.significant & !self.visited
    }
}

/// The left and right neighbours of a mask's coefficients, in the same block.
const fn horizontal(mask: u64) -> u64 {
    (mask & !COLUMN_LAST) << 1 | (mask & !COLUMN_FIRST) >> 1
}

/// Calls `mark` with the places of the eight code blocks around the one at `at`, and the neighbours in them of its
/// coefficients in `mask`: left and right, above and below, diagonal ones.
#[inline(always)]
pub(crate) fn mark_outside([at, stride]: [usize; 2], mask: u64, kinds: [bool; 3], mut mark: impl FnMut(usize, u64)) {
    if mask & CODE_BLOCK_RIM_MASK == 0 {
        return;
    }
    let [beside, above, diagonal] = kinds.map(|kind| if kind { u64::MAX } else { 0 });
    let wide = mask & above | horizontal(mask) & diagonal;
    let tall = mask & beside | (mask << 8 | mask >> 8) & diagonal;
    let corner = |bit: u32, to: u32| (mask & diagonal) >> bit << 63 >> (63 - to);
    let rows = [
        (at - stride, [corner(0, 63), wide << 56, corner(7, 56)]),
        (at, [(tall & COLUMN_FIRST) << 7, 0, (tall & COLUMN_LAST) >> 7]),
        (at + stride, [corner(56, 7), wide >> 56, corner(63, 0)]),
    ];
    for (middle, masks) in rows {
        for (place, mask) in (middle - 1..).zip(masks) {
            mark(place, mask);
        }
    }
}

/// Returns the children of coefficients in the code block of the next finer subband whose column and row, modulo 2, are
/// these.
#[inline(always)]
pub(crate) const fn children(mask: u64, [column, row]: [usize; 2]) -> u64 {
    let quarter = mask >> (4 * column + 32 * row) & 0x0F0F_0F0F;
    let wide = (quarter | quarter << 2) & 0x3333_3333;
    let wide = (wide | wide << 1) & 0x5555_5555;
    let wide = wide | wide << 1;
    let tall = (wide | wide << 16) & 0x0000_FFFF_0000_FFFF;
    let tall = (tall | tall << 8) & 0x00FF_00FF_00FF_00FF;
    tall | tall << 8
}

/// The number of code blocks in a subband of `width` x `height` coefficients, with its border.
pub(crate) const fn count(width: usize, height: usize) -> usize {
    (width.div_ceil(CODE_BLOCK_SIDE) + 2) * (height.div_ceil(CODE_BLOCK_SIDE) + 2)
}

/// Appends the code blocks of a subband of `width` x `height` coefficients, with a border of empty ones.
pub(crate) fn grid(width: usize, height: usize, blocks: &mut Vec<CodeBlock>) {
    let across = width.div_ceil(CODE_BLOCK_SIDE);
    let down = height.div_ceil(CODE_BLOCK_SIDE);
    let first = blocks.len();
    blocks.resize(first + count(width, height), CodeBlock::default());
    let rows = blocks[first..].chunks_mut(across + 2).skip(1).take(down);
    for (by, row) in rows.enumerate() {
        let tall = u64::MAX >> (8 * (CODE_BLOCK_SIDE - (height - by * CODE_BLOCK_SIDE).min(CODE_BLOCK_SIDE)));
        for block in &mut row[1..=across] {
            block.valid = tall;
        }
        let missing = across * CODE_BLOCK_SIDE - width;
        row[across].valid &= COLUMN_FIRST * (0xFF >> missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_neighbours_of_every_coefficient_become_near_wherever_they_are() {
        for bit in 0..64_u32 {
            let mut blocks = [CodeBlock::default(); 9];
            blocks[4].mark_significant(bit);
            mark_outside([4, 3], 1 << bit, [true; 3], |at, near| blocks[at].near |= near);
            let x = 8 + (bit & 7).cast_signed();
            let y = 8 + (bit >> 3).cast_signed();
            for ((bx, by), block) in (0..9).map(|at| (at % 3, at / 3)).zip(&blocks) {
                for other in 0..64_i32 {
                    let dx = 8 * bx + other % 8 - x;
                    let dy = 8 * by + other / 8 - y;
                    let next = (dx, dy) != (0, 0) && dx.abs() <= 1 && dy.abs() <= 1;
                    assert_eq!(block.near >> other & 1 == 1, next, "from {bit} to {other} of block {bx}, {by}");
                }
            }
        }
    }

    #[test]
    fn only_neighbours_of_some_kinds_are_marked_outside() {
        for (bit, kinds) in
            (0..64).flat_map(|bit| (0..8).map(move |kinds| (bit, [0, 1, 2].map(|i| kinds >> i & 1 == 1))))
        {
            let mut blocks = [0_u64; 9];
            mark_outside([4, 3], 1 << bit, kinds, |at, marked| blocks[at] |= marked);
            for (at, block) in blocks.into_iter().enumerate().filter(|(at, _)| *at != 4) {
                for other in 0..64_usize {
                    let dx = (8 * (at % 3) + other % 8).abs_diff(8 + bit % 8);
                    let dy = (8 * (at / 3) + other / 8).abs_diff(8 + bit / 8);
                    let marked = match (dx, dy) {
                        (1, 0) => kinds[0],
                        (0, 1) => kinds[1],
                        (1, 1) => kinds[2],
                        _ => false,
                    };
                    assert_eq!(block >> other & 1 == 1, marked, "from {bit} to {other} of block {at}");
                }
            }
        }
    }

    #[test]
    fn children_are_two_by_two_coefficients_at_twice_the_place() {
        for bit in 0..64_usize {
            let (x, y) = (2 * (bit % 8), 2 * (bit / 8));
            for (column, row, other) in
                (0..2).flat_map(|column| (0..2).flat_map(move |row| (0..64).map(move |o| (column, row, o))))
            {
                let inside = (8 * column + other % 8) / 2 * 2 == x && (8 * row + other / 8) / 2 * 2 == y;
                let found = children(1 << bit, [column, row]);
                assert_eq!(found >> other & 1 == 1, inside, "{bit}: {other} of {column}, {row}");
            }
        }
    }

    #[test]
    fn the_code_blocks_of_a_subband_hold_its_coefficients_and_their_border_none() {
        for (width, height) in [(0, 0), (0, 5), (1, 1), (8, 8), (9, 17), (15, 3), (64, 1)] {
            let mut blocks = vec![CodeBlock::default(); 5];
            grid(width, height, &mut blocks);
            let count: u32 = blocks.iter().map(|block| block.valid.count_ones()).sum();
            assert_eq!(count as usize, width * height);
            let across = width.div_ceil(CODE_BLOCK_SIDE);
            for (at, block) in blocks[5..].iter().enumerate() {
                let bx = at % (across + 2);
                let by = at / (across + 2);
                for bit in 0..64 {
                    let inside = bx > 0 && by > 0 && (bx - 1) * 8 + bit % 8 < width && (by - 1) * 8 + bit / 8 < height;
                    assert_eq!(block.valid >> bit & 1 == 1, inside);
                }
            }
        }
    }
}
