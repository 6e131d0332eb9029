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
    /// Seconds until a rendition may be added again.
    waits: f64,
}

impl EncoderTime {
    pub(super) const fn new(frames_a_second: f64) -> Self {
        Self { frames_a_second, share: None, waits: 0.0 }
    }

    /// Notes that a frame took this many seconds.
    pub(super) fn handle_encoded(&mut self, seconds: f64) {
        let weight = (1.0 / (AVERAGING_SECONDS * self.frames_a_second)).min(1.0);
        let now = (seconds * self.frames_a_second).min(MAX_INTERVALS);
        self.share = Some(self.share.map_or(now, |share| share + (now - share) * weight));
        self.waits = (self.waits - 1.0 / self.frames_a_second).max(0.0);
    }

    /// Notes that a rendition was removed for lack of time: the others' time is measured anew.
    pub(super) const fn handle_given_up(&mut self) {
        (self.share, self.waits) = (None, WAIT_SECONDS);
    }

    /// Notes that frames will take another time: it is measured anew.
    pub(super) const fn handle_effort_changed(&mut self) {
        self.share = None;
    }

    /// Returns whether there is time for one more rendition.
    pub(super) fn has_room(&self) -> bool {
        self.waits <= 0.0 && self.share.is_none_or(|share| share <= HAS_ROOM)
    }

    /// Returns whether there is too little time for the present renditions.
    pub(super) fn is_short(&self) -> bool {
        self.share.is_some_and(|share| share > TOO_LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_frame_changes_nothing_and_after_many_it_waits() {
        let mut time = EncoderTime::new(30.0);
        (0..30).for_each(|_| time.handle_encoded(0.01));
        time.handle_encoded(1.0);
        assert!(time.has_room() && !time.is_short());
        (0..30).for_each(|_| time.handle_encoded(0.04));
        assert!(time.is_short() && !time.has_room());
        time.handle_given_up();
        (0..290).for_each(|_| time.handle_encoded(0.01));
        assert!(!time.has_room() && !time.is_short());
        (0..20).for_each(|_| time.handle_encoded(0.01));
        assert!(time.has_room());
    }
}
