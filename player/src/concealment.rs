//! Decides which missing frames of video to conceal, from the frame intervals in which no frame arrived.

/// The most frames concealed after the last decoded one; then the picture freezes.
pub(crate) const MAX_CONCEALED: u64 = 4;

/// Follows the frames of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Concealment {
    /// The number of the last decoded frame.
    last: Option<u64>,
    /// The distance to it from the frame before, in pictures of the source.
    step: u64,
    /// Intervals without a frame since then.
    silent: u64,
    /// The missing frame that the screen shows a picture for.
    standing: Option<u64>,
}

impl Concealment {
    /// Notes a decoded frame. Returns whether to show it: not if the screen already shows a picture for a later one.
    pub(crate) fn handle_decoded(&mut self, id: u64) -> bool {
        self.step = self.last.map_or(1, |last| id.saturating_sub(last)).max(1);
        (self.last, self.silent) = (Some(id), 0);
        let shown = self.standing.is_none_or(|standing| standing <= id);
        if shown {
            self.standing = None;
        }
        shown
    }

    /// Notes a frame interval without a frame. Returns the number of the frame to conceal and its distance from the
    /// last decoded one in frames; `None` if there is none to conceal.
    pub(crate) fn handle_interval(&mut self) -> Option<(u64, u32)> {
        let last = self.last?;
        self.silent = self.silent.saturating_add(1);
        let missing = self.silent / self.step;
        let early = self.silent % self.step;
        let id = last.saturating_add(self.silent);
        let stands = self.standing.is_some_and(|standing| standing >= id);
        if early > 0 || missing > MAX_CONCEALED || stands {
            return None;
        }
        Some((id, u32::try_from(missing).ok()?))
    }

    /// Notes that a picture was shown for frame `id`, which did not arrive.
    pub(crate) const fn handle_concealed(&mut self, id: u64) {
        self.standing = Some(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the frames concealed in `intervals` intervals without a frame.
    fn silence(concealment: &mut Concealment, intervals: u64) -> Vec<(u64, u32)> {
        let due = (0..intervals).filter_map(|_| {
            let due = concealment.handle_interval();
            due.inspect(|&(id, _)| concealment.handle_concealed(id))
        });
        due.collect()
    }

    #[test]
    fn a_few_frames_in_a_row_are_concealed_and_then_the_picture_stands() {
        let mut concealment = Concealment::default();
        assert_eq!(silence(&mut concealment, 9), [], "nothing came yet");
        assert!(concealment.handle_decoded(7));
        assert_eq!(silence(&mut concealment, 9), [(8, 1), (9, 2), (10, 3), (11, 4)]);
        assert!(!concealment.handle_decoded(8), "it comes late");
        assert_eq!(silence(&mut concealment, 4), [(12, 4)], "no picture goes back");
        let shown = (9..14).map(|id| concealment.handle_decoded(id));
        assert_eq!(shown.collect::<Vec<_>>(), [false, false, false, true, true]);
        assert_eq!(silence(&mut concealment, 1), [(14, 1)]);
    }

    #[test]
    fn a_source_that_skips_pictures_is_waited_for_as_long_as_before() {
        let mut concealment = Concealment::default();
        for id in [4, 7, 10] {
            assert!(concealment.handle_decoded(id));
        }
        assert_eq!(silence(&mut concealment, 8), [(13, 1), (16, 2)]);
        assert!(!concealment.handle_decoded(13) && concealment.handle_decoded(16));
        assert!(concealment.handle_decoded(u64::MAX));
        assert_eq!(silence(&mut concealment, 3), [], "of numbers that no source has");
    }
}
