//! Truncation points: where a frame is cut for one receiver, and why.
//!
//! The writer calls [`cut`] when it begins a stream, after every write, and when something happens that a stream must
//! give way to. The answer is a position and its reason. The first of these that holds counts:
//!
//! 1. The path's rate fell: the stream is reset at once, because the base layers of all frames in flight are sent
//!    again.
//! 2. The base layer is unwritten: the stream continues, whatever waits.
//! 3. The broadcast ends: late bytes are no longer sent.
//! 4. Everything is written that the frame has, or that the receiver's cap and the path's policer allow.
//! 5. Written bytes keep the path busy until the next frame is due (video, see `pace.rs`).
//! 6. The next frame is due. Or the same picture is due again; then the rest follows as late bytes (see `still.rs`).

/// The reason for a stream's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// The frame is complete.
    Whole,
    /// The receiver's cap, or the path's policer, allows no more.
    Cap,
    /// The next frame is due.
    NextDue,
    /// The same picture is due again.
    PictureStays,
    /// Written bytes keep the path busy until the next frame is due.
    PathBusy,
    /// The path's rate fell, and base layers are sent again.
    RateFell,
    /// No more frames come.
    BroadcastEnds,
}

/// How far a stream is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Size in bytes of the frame, or of the rest of a picture that stays.
    pub(crate) full: usize,
    /// Size in bytes of its base layer, which is sent whatever the cap is.
    pub(crate) base: usize,
    /// Bytes that the receiver's cap and the path's policer allow.
    pub(crate) allowed: usize,
    /// Bytes written, without the stream's head.
    pub(crate) written: usize,
    /// Whether the head and the base layer are written.
    pub(crate) has_base: bool,
}

/// Everything that a stream may have to give way to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Situation {
    /// Whether the path's rate fell so far that most bytes in flight are lost.
    pub(crate) rate_fell: bool,
    /// Whether written bytes keep the path busy until the next frame is due.
    pub(crate) path_busy: bool,
    /// What follows this stream.
    pub(crate) next: Next,
}

/// What follows a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Next {
    /// Nothing known yet.
    #[default]
    Nothing,
    /// Another frame, which is due.
    Frame,
    /// The same picture, which is due again.
    SamePicture,
    /// Nothing: the broadcast ends.
    End,
}

/// Where a stream ends, as far as is known now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Its length in bytes then, without its head.
    pub(crate) at: usize,
    /// Why it has no more.
    pub(crate) reason: CutReason,
    /// Whether it ends now. Otherwise it continues, up to `at` at most.
    pub(crate) ends: bool,
}

/// Returns where the stream ends, and why: see the top of this file.
pub(crate) fn cut(stream: &Extent, situation: Situation) -> Cut {
    let here = |reason, ends| Cut { at: stream.written, reason, ends };
    if situation.rate_fell {
        return here(CutReason::RateFell, true);
    }
    if situation.next == Next::End {
        return here(CutReason::BroadcastEnds, stream.has_base);
    }
    let limit = limit(stream);
    if !stream.has_base {
        return limit;
    }
    if stream.written >= limit.at {
        return Cut { ends: true, ..limit };
    }
    if situation.path_busy {
        return here(CutReason::PathBusy, true);
    }
    match situation.next {
        Next::Frame => here(CutReason::NextDue, true),
        Next::SamePicture => here(CutReason::PictureStays, true),
        Next::Nothing | Next::End => limit,
    }
}

/// Returns where the stream ends if it gives way to nothing: after all allowed bytes, but never within its base layer.
fn limit(stream: &Extent) -> Cut {
    let at = stream.allowed.clamp(stream.base, stream.full);
    let reason = if at < stream.full { CutReason::Cap } else { CutReason::Whole };
    Cut { at, reason, ends: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Extent = Extent { full: 1000, base: 100, allowed: 700, written: 300, has_base: true };
    const CALM: Situation = Situation { rate_fell: false, path_busy: false, next: Next::Nothing };

    fn ends(stream: Extent, situation: Situation) -> Option<(usize, CutReason)> {
        let cut = cut(&stream, situation);
        cut.ends.then_some((cut.at, cut.reason))
    }

    #[test]
    fn a_stream_may_be_as_long_as_the_cap_lets_it_and_has_its_base_in_any_case() {
        for (allowed, at, reason) in [
            (0, 100, CutReason::Cap),
            (100, 100, CutReason::Cap),
            (700, 700, CutReason::Cap),
            (1000, 1000, CutReason::Whole),
            (usize::MAX, 1000, CutReason::Whole),
        ] {
            let begins = Extent { allowed, written: 0, has_base: false, ..STREAM };
            assert_eq!(cut(&begins, CALM), Cut { at, reason, ends: false });
            assert_eq!(ends(Extent { allowed, written: at, ..STREAM }, CALM), Some((at, reason)));
        }
    }

    #[test]
    fn behind_its_base_a_stream_gives_way() {
        for (situation, reason) in [
            (Situation { path_busy: true, ..CALM }, CutReason::PathBusy),
            (Situation { next: Next::Frame, ..CALM }, CutReason::NextDue),
            (Situation { next: Next::SamePicture, ..CALM }, CutReason::PictureStays),
            (Situation { next: Next::End, ..CALM }, CutReason::BroadcastEnds),
        ] {
            assert_eq!(ends(STREAM, situation), Some((300, reason)));
            assert_eq!(ends(Extent { written: 50, has_base: false, ..STREAM }, situation), None, "within the base");
        }
        assert_eq!(ends(STREAM, CALM), None);
    }

    #[test]
    fn the_first_reason_counts() {
        let all = Situation { rate_fell: true, path_busy: true, next: Next::Frame };
        let within_base = Extent { written: 50, has_base: false, ..STREAM };
        assert_eq!(ends(within_base, all), Some((50, CutReason::RateFell)), "its base goes again");
        let calmer = Situation { rate_fell: false, ..all };
        assert_eq!(ends(STREAM, calmer), Some((300, CutReason::PathBusy)));
        assert_eq!(ends(Extent { written: 700, ..STREAM }, calmer), Some((700, CutReason::Cap)), "nothing was left");
    }
}
