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

/// The class of a block with these sums of absolute differences (horizontal, vertical, and both diagonals), at most 2^18
/// each, `step` of the cut, and number of the finest significant level, at most [`TOLD_LEVELS`].
pub(super) fn class(change: [u32; 4], step: i16, significance: u8) -> usize {
    let limit = FIRST_LIMIT * u32::from(step.unsigned_abs());
    // How many of the limits, each twice the one before, are reached.
    let activity =
        ((change[0] + change[1]) / limit).checked_ilog2().map_or(0, |log| ACTIVITIES.min(log as usize + 2) - 1);
    let significance = usize::from(significance).min(TOLD_LEVELS);
    (activity * DIRECTIONS + direction(change)) * (TOLD_LEVELS + 1) + significance
}

/// Which way there is over one and a half times as much change as across it, of the two ways in which that differs more.
fn direction([horizontal, vertical, falling, rising]: [u32; 4]) -> usize {
    let sorted = |a: u32, b: u32| (a.max(b), a.min(b));
    let (upright, diagonal) = (sorted(horizontal, vertical), sorted(falling, rising));
    let clearer = u64::from(upright.0) * u64::from(diagonal.1) >= u64::from(diagonal.0) * u64::from(upright.1);
    let ((most, least), way) = if clearer {
        (upright, 1 + usize::from(horizontal <= vertical))
    } else {
        (diagonal, 3 + usize::from(falling <= rising))
    };
    if 2 * most > 3 * least { way } else { 0 }
}

/// How much two samples differ, at most [`MAX_CHANGE`].
#[inline(always)]
pub(super) fn change(a: i16, b: i16) -> i16 {
    let difference = a.saturating_sub(b);
    difference.max(0_i16.saturating_sub(difference)).min(MAX_CHANGE)
}
