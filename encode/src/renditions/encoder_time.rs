//! Checks whether an encoder has time for one more rendition, or for its present ones.

/// A rendition is added while encoding a frame takes at most this part of its interval: one more takes up to six tenths
/// of that time.
const HAS_ROOM: f64 = 0.5;
/// A rendition is removed if frames take more: pictures would soon be skipped.
const TOO_LONG: f64 = 0.9;
/// The most intervals that one frame counts for: a machine that paused says nothing about the next frames.
const MAX_INTERVALS: f64 = 2.0;
/// Seconds over which encoding time is averaged.
const AVERAGING_SECONDS: f64 = 0.5;
/// Seconds without a new rendition after one was removed.
const WAIT_SECONDS: f64 = 10.0;

/// The recent mean encoding time of a frame, as a part of the frame interval. Until it is known there is room.
#[derive(Debug)]
pub(super) struct EncoderTime {
    frames_a_second: f64,
    share: Option<f64>,
    /// Seconds for which it has been measured.
    measured: f64,
    /// Whether frames may soon take less time: with less effort.
    may_fall: bool,
    /// Seconds until a rendition may be added again.
    waits: f64,
}

impl EncoderTime {
    pub(super) const fn new(frames_a_second: f64) -> Self {
        Self { frames_a_second, share: None, measured: 0.0, may_fall: false, waits: 0.0 }
    }

    /// Notes that a frame took this many seconds; `may_fall` says whether the next ones may take less effort.
    pub(super) fn handle_encoded(&mut self, seconds: f64, may_fall: bool) {
        let interval = 1.0 / self.frames_a_second;
        self.measured += interval;
        self.may_fall = may_fall;
        // The mean of all frames at first, then of the recent ones.
        let weight = (interval / self.measured.min(AVERAGING_SECONDS)).min(1.0);
        let now = (seconds * self.frames_a_second).min(MAX_INTERVALS);
        let before = self.share.unwrap_or(now);
        self.share = Some(before + (now - before) * weight);
        self.waits = (self.waits - interval).max(0.0);
    }

    /// Notes that a rendition was removed for lack of time: the others' time is measured anew.
    pub(super) const fn handle_given_up(&mut self) {
        (self.measured, self.waits) = (0.0, WAIT_SECONDS);
    }

    /// Notes that frames will take another time: it is measured anew.
    pub(super) const fn handle_effort_changed(&mut self) {
        self.measured = 0.0;
    }

    /// Returns whether there is time for one more rendition.
    pub(super) fn has_room(&self) -> bool {
        self.waits <= 0.0 && self.share.is_none_or(|share| self.is_measured() && share <= HAS_ROOM)
    }

    fn is_measured(&self) -> bool {
        self.measured >= AVERAGING_SECONDS
    }

    /// Returns whether there is too little time for the present renditions, whatever the effort.
    pub(super) fn is_short(&self) -> bool {
        !self.may_fall && self.is_measured() && self.share.is_some_and(|share| share > TOO_LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_frame_changes_nothing_and_after_many_it_waits() {
        let mut time = EncoderTime::new(30.0);
        (0..30).for_each(|_| time.handle_encoded(0.01, false));
        time.handle_encoded(1.0, false);
        assert!(time.has_room() && !time.is_short());
        (0..30).for_each(|_| time.handle_encoded(0.04, false));
        assert!(time.is_short() && !time.has_room());
        time.handle_given_up();
        (0..290).for_each(|_| time.handle_encoded(0.01, false));
        assert!(!time.has_room() && !time.is_short());
        (0..20).for_each(|_| time.handle_encoded(0.01, false));
        assert!(time.has_room());
    }
    #[test]
    fn before_a_rendition_is_given_up_the_effort_falls_as_far_as_it_can() {
        let mut time = EncoderTime::new(30.0);
        (0..60).for_each(|_| time.handle_encoded(0.04, true));
        assert!(!time.is_short() && !time.has_room());
        time.handle_effort_changed();
        (0..14).for_each(|_| time.handle_encoded(0.04, false));
        assert!(!time.is_short(), "the new effort has no mean yet");
        (0..2).for_each(|_| time.handle_encoded(0.04, false));
        assert!(time.is_short());
    }
}
