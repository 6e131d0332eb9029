//! Measures how much samples change around blocks, summed over four rows and four columns at a time: each sum counts
//! for the four blocks that it overlaps. A loop over a row becomes vector instructions where its function does little
//! else.

use crate::post_filter::BLOCK_SIDE;
use crate::post_filter::classes::change;
use crate::simd::widest;

/// The directions of change, as rows down and columns right: along rows, along columns, and both diagonals.
const WAY_STEPS: [(usize, isize); DIRECTION_SUMS] = [(0, 1), (1, 0), (1, 1), (1, -1)];
pub(super) const DIRECTION_SUMS: usize = 4;
/// Rows that a sum depends on: the block's own, and one above and below.
pub(super) const SUMMED_ROWS: usize = BLOCK_SIDE + 2;

/// Sets `sums`, by direction, for the four rows in the middle, from column `first` of these rows on. `memory` has four
/// times as many numbers. Sums are unsigned numbers of 16 bits.
pub(super) fn sum_up(
    rows: &[&mut [i16]; SUMMED_ROWS],
    first: usize,
    memory: &mut [i16],
    sums: &mut [&mut [i16]; DIRECTION_SUMS],
) {
    for (sums, (down, right)) in sums.iter_mut().zip(WAY_STEPS) {
        let sides = |y: usize| {
            [&rows[y + down][first.wrapping_add_signed(right)..], &rows[y - down][first.wrapping_add_signed(-right)..]]
        };
        widest!(set_changes(memory, sides(1), sides(2)));
        widest!(add_changes(memory, sides(3), sides(4)));
        widest!(add_fours(memory, sums));
    }
}

/// Sets `changes` to the sums of two rows' changes from their neighbours on both sides.
#[inline(always)]
fn set_changes(changes: &mut [i16], [a, b]: [&[i16]; 2], [c, d]: [&[i16]; 2]) {
    for (sum, (((a, b), c), d)) in changes.iter_mut().zip(a.iter().zip(b).zip(c).zip(d)) {
        *sum = change(*a, *b) + change(*c, *d);
    }
}

/// Adds two rows' changes from their neighbours on both sides to `changes`.
#[inline(always)]
fn add_changes(changes: &mut [i16], [a, b]: [&[i16]; 2], [c, d]: [&[i16]; 2]) {
    for (sum, (((a, b), c), d)) in changes.iter_mut().zip(a.iter().zip(b).zip(c).zip(d)) {
        *sum += change(*a, *b) + change(*c, *d);
    }
}

/// Sets `sums` to the sums of four changes each.
#[inline(always)]
fn add_fours(changes: &[i16], sums: &mut [i16]) {
    for (sum, four) in sums.iter_mut().zip(changes.as_chunks().0) {
        *sum = sum_of(four).cast_signed();
    }
}

/// Returns the sum of four non-negative numbers, each at most four times [`MAX_CHANGE`](super::classes::MAX_CHANGE).
#[inline(always)]
fn sum_of([a, b, c, d]: &[i16; BLOCK_SIDE]) -> u16 {
    let wide = |value: i16| u64::from(value.cast_unsigned());
    let four = wide(*a) | wide(*b) << 16 | wide(*c) << 32 | wide(*d) << 48;
    // The highest quarter of the product is the sum.
    (four.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u16
}

/// Sets `changes` to the change around each block: the sums of the four rows that overlap it from above and of those
/// that overlap it from below, each for the block's first columns and for the next.
#[inline(always)]
pub(super) fn around_blocks(above: &[i16], below: &[i16], changes: &mut [u32]) {
    let wide = |sum: i16| u32::from(sum.cast_unsigned());
    let first = above.iter().zip(below);
    let next = above[1..].iter().zip(&below[1..]);
    for ((change, (a, b)), (c, d)) in changes.iter_mut().zip(first).zip(next) {
        *change = wide(*a) + wide(*b) + wide(*c) + wide(*d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post_filter::classes::MAX_CHANGE;

    #[test]
    fn the_largest_sums_have_sixteen_bits() {
        assert_eq!(sum_of(&[4 * MAX_CHANGE; BLOCK_SIDE]), 65_520);
        assert_eq!(sum_of(&[1, 20, 300, 4000]), 4321);
        // Pairs of columns of opposite values: the samples on both sides of a pair's column differ by the maximum.
        let row: [i16; 24] = std::array::from_fn(|x| if x / 2 % 2 == 0 { i16::MAX } else { -i16::MAX });
        let mut rows = [row; SUMMED_ROWS];
        let mut memory = [0; 16];
        let mut sums = [[0; 4]; DIRECTION_SUMS];
        sum_up(
            &rows.each_mut().map(|row| &mut row[..]),
            4,
            &mut memory,
            &mut sums.each_mut().map(|sums| &mut sums[..]),
        );
        assert_eq!(sums[0].map(i16::cast_unsigned), [65_520; 4]);
        assert_eq!(sums[1], [0; 4]);
    }
}
