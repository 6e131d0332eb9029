//! The class of a block: how much its samples change relative to the step of the truncation point, in which direction,
//! and at which level a coefficient is significant there.

use crate::post_filter::TOLD_LEVELS;

/// Classes of activity; each has twice the change of the one before.
pub(super) const ACTIVITY_CLASSES: usize = 9;
/// None, horizontal, vertical, and both diagonals.
pub(super) const DIRECTION_CLASSES: usize = 5;
/// The limit of the first activity: the change in steps, summed over a block's surroundings.
const FIRST_LIMIT: u32 = 10;
/// The maximum of one difference, in 1/64, so that eight of them fit in 15 bits.
pub(super) const MAX_CHANGE: i16 = 4095;

/// Returns the classes of blocks. `changes`: sums of absolute differences, by direction (horizontal, vertical, both
/// diagonals) and block, at most 2^18 each; `step`: that of the truncation point; `significance`: numbers of the finest
/// significant level, at most [`TOLD_LEVELS`]. Each loop becomes vector instructions where this function is inlined.
#[inline(always)]
pub(super) fn classes<const N: usize>(changes: &[[u32; N]; 4], step: i16, significance: &[u8; N]) -> [usize; N] {
    let mut activities = [0; N];
    let mut directions = [0; N];
    add_activities(&changes[0], &changes[1], FIRST_LIMIT * u32::from(step.unsigned_abs()), &mut activities);
    set_directions(changes, &mut directions);
    std::array::from_fn(|block| {
        let significance = usize::from(significance[block]).min(TOLD_LEVELS);
        (activities[block] as usize * DIRECTION_CLASSES + directions[block] as usize) * (TOLD_LEVELS + 1) + significance
    })
}

/// Adds the number of limits that are reached; each limit is twice the one before.
#[inline(always)]
fn add_activities<const N: usize>(across: &[u32; N], down: &[u32; N], limit: u32, activities: &mut [u32; N]) {
    for (activity, (across, down)) in activities.iter_mut().zip(across.iter().zip(down)) {
        let total = (across + down).cast_signed();
        for doubled in 0..ACTIVITY_CLASSES - 1 {
            *activity += u32::from(total >= (limit << doubled).cast_signed());
        }
    }
}

/// Sets the direction with over one and a half times as much change as across it, from the pair of directions that
/// differs more.
#[inline(always)]
fn set_directions<const N: usize>([horizontal, vertical, falling, rising]: &[[u32; N]; 4], directions: &mut [u32; N]) {
    let sorted = |a: u32, b: u32| (a.max(b), a.min(b));
    let product = |a: u32, b: u32| (u64::from(a) * u64::from(b)).cast_signed();
    for block in 0..N {
        let upright = sorted(horizontal[block], vertical[block]);
        let diagonal = sorted(falling[block], rising[block]);
        let clearer = product(upright.0, diagonal.1) >= product(diagonal.0, upright.1);
        let (most, least) = if clearer { upright } else { diagonal };
        let upright = 1 + u32::from(horizontal[block] <= vertical[block]);
        let diagonal = 3 + u32::from(falling[block] <= rising[block]);
        let way = if clearer { upright } else { diagonal };
        directions[block] = if 2 * most > 3 * least { way } else { 0 };
    }
}

/// Returns how much two samples differ, at most [`MAX_CHANGE`].
#[inline(always)]
pub(super) fn change(a: i16, b: i16) -> i16 {
    let difference = a.saturating_sub(b);
    difference.max(0_i16.saturating_sub(difference)).min(MAX_CHANGE)
}
