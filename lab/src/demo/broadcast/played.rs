//! Which frames the page plays.

use std::ops::Range;

use crate::clip::Clip;

/// When the excerpt begins, in seconds: the sender has found the rates by then.
const FROM_SECOND: u32 = 2;
/// The longest excerpt, in seconds; it ends before the link's rate falls.
const MAX_SECONDS: u32 = 3;
/// The most samples that are kept for each receiver.
const MAX_SAMPLES: usize = 48 << 20;

/// Returns the frames to play. A short clip plays once forwards and backwards, so that the loop has no seam.
pub(super) fn ids(clip: &Clip) -> Range<u64> {
    let from = clip.frames_in(FROM_SECOND);
    let kept = (MAX_SAMPLES / clip.at(0).samples().len()).max(1) as u64;
    from..from + clip.period().min(clip.frames_in(MAX_SECONDS)).min(kept)
}
