//! The class of a block: how much its samples change against the cut's step, in which direction, and on which level a
//! coefficient is significant there.

use crate::post_filter::TOLD_LEVELS;

/// Classes of activity, each of twice as much change as the one before.
pub(super) const ACTIVITIES: usize = 9;
/// None, horizontal, vertical, and both diagonals.
pub(super) const DIRECTIONS: usize = 5;
/// Change, summed over a block's surroundings, that is the first activity's limit, in steps.
const FIRST_LIMIT: u32 = 10;
/// Most that one difference counts, in 1/64, so that eight of them have 15 bits.
pub(super) const MAX_CHANGE: i16 = 4095;

/// The classes of blocks with these sums of absolute differences (by way: horizontal, vertical, and both diagonals; by block), at
/// most 2^18 each, `step` of the cut, and numbers of the finest significant level, at most [`TOLD_LEVELS`].
pub(super) fn classes<const N: usize>(changes: &[[u32; N]; 4], step: i16, significance: &[u8; N]) -> [usize; N] {
    let mut activities = [0; N];
    add_activities(&changes[0], &changes[1], FIRST_LIMIT * u32::from(step.unsigned_abs()), &mut activities);
    std::array::from_fn(|block| {
        let direction = direction(changes.map(|way| way[block]));
        let significance = usize::from(significance[block]).min(TOLD_LEVELS);
        (activities[block] as usize * DIRECTIONS + direction) * (TOLD_LEVELS + 1) + significance
    })
}

/// How many of the limits, each twice the one before, are reached: a loop that becomes vector instructions.
#[inline(never)]
fn add_activities<const N: usize>(across: &[u32; N], down: &[u32; N], limit: u32, activities: &mut [u32; N]) {
    for (activity, (across, down)) in activities.iter_mut().zip(across.iter().zip(down)) {
        let total = (across + down).cast_signed();
        for doubled in 0..ACTIVITIES - 1 {
            *activity += u32::from(total >= (limit << doubled).cast_signed());
        }
    }
}

/// Which way there is over one and a half times as much change as across it, of the two ways in which that differs more.
fn direction([horizontal, vertical, falling, rising]: [u32; 4]) -> usize {
    let sorted = |a: u32, b: u32| (u64::from(a.max(b)), u64::from(a.min(b)));
    let (upright, diagonal) = (sorted(horizontal, vertical), sorted(falling, rising));
    let clearer = upright.0 * diagonal.1 >= diagonal.0 * upright.1;
    let (most, least) = if clearer { upright } else { diagonal };
    let (ways, second) = if clearer { (1, horizontal <= vertical) } else { (3, falling <= rising) };
    usize::from(2 * most > 3 * least) * (ways + usize::from(second))
}

/// How much two samples differ, at most [`MAX_CHANGE`].
#[inline(always)]
pub(super) fn change(a: i16, b: i16) -> i16 {
    let difference = a.saturating_sub(b);
    difference.max(0_i16.saturating_sub(difference)).min(MAX_CHANGE)
}
