//! Decides which missing frames of video to conceal, from the frame intervals in which no frame was presented.

use std::time::Duration;

/// The most frames concealed after the last decoded one; then the picture freezes.
pub(crate) const MAX_CONCEALED: u64 = 4;
/// The number of recent distances between frames, of which the largest counts: a source that skips pictures now and
/// then is waited for as long as it took lately.
const RECENT_FRAMES: usize = 4;

/// Follows the frames of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Concealment {
    interval: Duration,
    /// The number of the last decoded frame, and its capture time in microseconds.
    last: Option<(u64, u64)>,
    /// The recent distances between frames, in pictures of the source and in intervals; zero before there are any.
    steps: [Step; RECENT_FRAMES],
    /// Intervals without a frame since then.
    silent: u64,
    /// The missing frame that the screen shows a picture for.
    standing: Option<u64>,
}

/// The distance from one frame to the next.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    pictures: u64,
    intervals: u64,
}

impl Concealment {
    /// Follows frames that come every `interval`.
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Notes a decoded frame that was captured at `captured` microseconds. Returns whether to show it: not if the
    /// screen already shows a picture for a later one.
    pub(crate) fn handle_decoded(&mut self, id: u64, captured: u64) -> bool {
        if let Some((last, before)) = self.last {
            let pictures = id.saturating_sub(last);
            let interval = self.interval.as_micros().max(1);
            let intervals = (u128::from(captured.saturating_sub(before)) + interval / 2) / interval;
            self.steps.rotate_right(1);
            self.steps[0] = Step { pictures, intervals: u64::try_from(intervals).unwrap_or(u64::MAX) };
        }
        (self.last, self.silent) = (Some((id, captured)), 0);
        let shown = self.standing.is_none_or(|standing| standing <= id);
        if shown {
            self.standing = None;
        }
        shown
    }

    /// Notes a frame interval without a frame. Returns the number of the frame to conceal and its distance from the
    /// last decoded one in frames; `None` if there is none to conceal.
    pub(crate) fn handle_interval(&mut self) -> Option<(u64, u32)> {
        let (last, _) = self.last?;
        self.silent = self.silent.saturating_add(1);
        let pictures = self.steps.iter().map(|step| step.pictures).max().unwrap_or(1).max(1);
        let intervals = self.steps.iter().map(|step| step.intervals).max().unwrap_or(1).max(pictures);
        let missing = self.silent / intervals;
        let early = self.silent % intervals;
        let id = last.saturating_add(missing.saturating_mul(pictures));
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

    const INTERVAL: Duration = Duration::from_millis(40);

    /// Returns the frames concealed in `intervals` intervals without a frame.
    fn silence(concealment: &mut Concealment, intervals: u64) -> Vec<(u64, u32)> {
        let due = (0..intervals).filter_map(|_| {
            let due = concealment.handle_interval();
            due.inspect(|&(id, _)| concealment.handle_concealed(id))
        });
        due.collect()
    }

    /// Decodes a frame that was captured when it was due.
    fn decoded(concealment: &mut Concealment, id: u64) -> bool {
        concealment.handle_decoded(id, id.saturating_mul(40_000))
    }

    #[test]
    fn a_few_frames_in_a_row_are_concealed_and_then_the_picture_stands() {
        let mut concealment = Concealment::new(INTERVAL);
        assert_eq!(silence(&mut concealment, 9), [], "nothing came yet");
        assert!(decoded(&mut concealment, 7));
        assert_eq!(silence(&mut concealment, 9), [(8, 1), (9, 2), (10, 3), (11, 4)]);
        assert!(!decoded(&mut concealment, 8), "it comes late");
        assert_eq!(silence(&mut concealment, 4), [(12, 4)], "no picture goes back");
        let shown = (9..14).map(|id| decoded(&mut concealment, id));
        assert_eq!(shown.collect::<Vec<_>>(), [false, false, false, true, true]);
        assert_eq!(silence(&mut concealment, 1), [(14, 1)]);
    }

    #[test]
    fn a_source_that_skips_pictures_is_waited_for_as_long_as_lately() {
        let mut concealment = Concealment::new(INTERVAL);
        for id in [4, 7, 8, 9] {
            assert!(decoded(&mut concealment, id));
        }
        assert_eq!(silence(&mut concealment, 8), [(12, 1), (15, 2)]);
        assert!(!decoded(&mut concealment, 12) && decoded(&mut concealment, 15));
        assert!(decoded(&mut concealment, u64::MAX));
        assert_eq!(silence(&mut concealment, 3), [], "of numbers that no source has");
    }

    #[test]
    fn a_camera_that_takes_its_time_is_waited_for_too() {
        let mut concealment = Concealment::new(INTERVAL);
        for (id, captured) in [(0, 0), (1, 80_000), (2, 120_000)] {
            assert!(concealment.handle_decoded(id, captured));
        }
        assert_eq!(silence(&mut concealment, 4), [(3, 1), (4, 2)]);
        assert!(concealment.handle_decoded(5, u64::MAX) && concealment.handle_decoded(6, 0));
        assert_eq!(silence(&mut concealment, 100), [], "of a moment that does not come");
    }
}
