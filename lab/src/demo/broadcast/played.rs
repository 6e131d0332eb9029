//! Which frames the page plays.

use std::ops::Range;

use crate::clip::Clip;

/// When it begins, in seconds: the rates are found by then.
const FROM_SECOND: u32 = 2;
/// The longest, in seconds; it ends before the fall.
const MAX_SECONDS: u32 = 3;
/// The most samples that are kept for each receiver.
const MAX_SAMPLES: usize = 48 << 20;

/// The frames that play: where the clip is short, once there and back, so that the loop has no seam.
pub(super) fn ids(clip: &Clip) -> Range<u64> {
    let from = clip.frames_in(FROM_SECOND);
    let kept = (MAX_SAMPLES / clip.at(0).samples().len()).max(1) as u64;
    from..from + clip.period().min(clip.frames_in(MAX_SECONDS)).min(kept)
}
