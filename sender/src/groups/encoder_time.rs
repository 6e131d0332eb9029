//! Whether an encoder has time for one loop more, or for those that it has.

/// A loop more is made while a frame takes no more than this share of its interval: one more takes up to six tenths of what
/// frames take.
const HAS_ROOM: f64 = 0.5;
/// A loop is given up where frames take more: pictures would soon be skipped.
const TOO_LONG: f64 = 0.9;
/// A frame counts for so many intervals at most: a machine that stood still says nothing of the next frames.
const LONGEST: f64 = 2.0;
/// Seconds over which the time that frames take is averaged.
const AVERAGED: f64 = 0.5;
/// Seconds that no loop is made after one was given up.
const WAITS: f64 = 10.0;

/// The time that frames took of late, as a share of their interval. Before any is known there is room.
#[derive(Debug)]
pub(super) struct EncoderTime {
    frames_a_second: f64,
    share: Option<f64>,
    /// Seconds until a loop may be made again.
    waits: f64,
}

impl EncoderTime {
    pub(super) const fn new(frames_a_second: f64) -> Self {
        Self { frames_a_second, share: None, waits: 0.0 }
    }

    /// A frame took so many seconds.
    pub(super) fn handle_encoded(&mut self, seconds: f64) {
        let weight = (1.0 / (AVERAGED * self.frames_a_second)).min(1.0);
        let now = (seconds * self.frames_a_second).min(LONGEST);
        self.share = Some(self.share.map_or(now, |share| share + (now - share) * weight));
        self.waits = (self.waits - 1.0 / self.frames_a_second).max(0.0);
    }

    /// A loop was given up for want of time: what is left shows its own.
    pub(super) const fn handle_given_up(&mut self) {
        (self.share, self.waits) = (None, WAITS);
    }

    /// Whether one loop more fits in.
    pub(super) fn has_room(&self) -> bool {
        self.waits <= 0.0 && self.share.is_none_or(|share| share <= HAS_ROOM)
    }

    /// Whether those that there are do not.
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
