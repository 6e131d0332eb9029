//! Chooses how long a live encoder searches for motion: by the samples a second at first, then by the time that frames
//! take. The effort falls before renditions are given up or frames are skipped, and rises again when there is time.

use nestcast_codec::Effort;

/// Luma samples a second up to which the motion search is long: those of 640x360 at 30 frames a second.
const NORMAL_SAMPLES: f64 = 640.0 * 360.0 * 30.0;
/// The same up to which it is fast: those of 1280x720 at 30 frames a second.
const FAST_SAMPLES: f64 = 1280.0 * 720.0 * 30.0;
/// The efforts, from the cheapest on. The second number is the time of a frame over that of the effort before it, at
/// most.
const EFFORT_TIMES: [(Effort, f64); 3] = [(Effort::Realtime, 1.0), (Effort::Fast, 1.6), (Effort::Normal, 1.7)];
/// The effort falls when frames take more than this part of their interval.
const TOO_LONG: f64 = 0.8;
/// It rises while frames would take no more than this part with the next effort.
const HAS_ROOM: f64 = 0.6;
/// The most intervals that one frame counts for: a machine that paused says nothing about the next frames.
const MAX_INTERVALS: f64 = 2.0;
/// Seconds over which encoding time is averaged, and for which an effort stays.
const AVERAGING_SECONDS: f64 = 0.5;
/// The first frames, which say nothing about later ones: the encoder gets its memory, and receivers join.
const STARTING_FRAMES: usize = 3;
/// Seconds with room before the effort rises. They double each time that it falls soon after it rose.
const CALM_SECONDS: f64 = 5.0;
const MAX_CALM_SECONDS: f64 = 80.0;

/// The effort of a live encoder.
#[derive(Debug)]
pub(crate) struct EffortLadder {
    frames_a_second: f64,
    /// The place in [`EFFORT_TIMES`].
    place: usize,
    is_pinned: bool,
    /// How many of [`STARTING_FRAMES`] are left.
    starting: usize,
    /// The recent mean encoding time of a frame, as a part of the frame interval.
    share: f64,
    /// Seconds since the effort changed.
    age: f64,
    /// Seconds for which there has been room.
    calm: f64,
    /// Seconds with room that the next rise needs.
    patience: f64,
    /// Whether the last change was a rise.
    rose: bool,
}

impl EffortLadder {
    /// Begins with the effort for this many luma samples a second.
    pub(crate) fn new(samples_a_second: f64, frames_a_second: f64) -> Self {
        let place = if samples_a_second <= NORMAL_SAMPLES {
            2
        } else if samples_a_second <= FAST_SAMPLES {
            1
        } else {
            0
        };
        Self {
            frames_a_second,
            place,
            is_pinned: false,
            starting: STARTING_FRAMES,
            share: 0.0,
            age: 0.0,
            calm: 0.0,
            patience: CALM_SECONDS,
            rose: false,
        }
    }

    /// Keeps this effort, whatever frames take.
    pub(crate) fn pin(&mut self, effort: Effort) {
        self.place = EFFORT_TIMES.iter().position(|(other, _)| *other == effort).unwrap_or(self.place);
        self.is_pinned = true;
    }

    pub(crate) const fn effort(&self) -> Effort {
        EFFORT_TIMES[self.place].0
    }

    /// Returns whether frames that take too long lower the effort.
    pub(crate) const fn may_fall(&self) -> bool {
        !self.is_pinned && self.place > 0
    }

    /// Notes that a frame took this many seconds, and returns whether the effort changes with the next one.
    pub(crate) fn handle_encoded(&mut self, seconds: f64) -> bool {
        if self.is_pinned {
            return false;
        }
        if let Some(left) = self.starting.checked_sub(1) {
            self.starting = left;
            return false;
        }
        let interval = 1.0 / self.frames_a_second;
        self.age += interval;
        // The mean of all frames since the change at first, then of the recent ones.
        let weight = (interval / self.age.min(AVERAGING_SECONDS)).min(1.0);
        let now = (seconds * self.frames_a_second).min(MAX_INTERVALS);
        self.share += (now - self.share) * weight;
        let next = EFFORT_TIMES.get(self.place + 1).map(|(_, factor)| self.share * factor);
        self.calm = if next.is_some_and(|share| share <= HAS_ROOM) { self.calm + interval } else { 0.0 };
        if self.age < AVERAGING_SECONDS {
            return false;
        }
        if self.share > TOO_LONG && self.place > 0 {
            if self.rose && self.age < self.patience {
                self.patience = (2.0 * self.patience).min(MAX_CALM_SECONDS);
            } else {
                self.patience = CALM_SECONDS;
            }
            self.change(self.place - 1);
            true
        } else if self.calm >= self.patience {
            self.change(self.place + 1);
            true
        } else {
            false
        }
    }

    const fn change(&mut self, place: usize) {
        self.rose = place > self.place;
        self.place = place;
        (self.age, self.calm) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES_PER_SECOND: f64 = 30.0;

    /// Encodes for some seconds on a machine on which each effort takes these milliseconds; returns how often the
    /// effort changed.
    fn run(ladder: &mut EffortLadder, seconds: u32, [realtime, fast, normal]: [f64; 3]) -> usize {
        let frames = 0..seconds * 30;
        let changes = frames.filter(|_| {
            let took = match ladder.effort() {
                Effort::Realtime => realtime,
                Effort::Fast => fast,
                Effort::Normal => normal,
            };
            ladder.handle_encoded(took / 1000.0)
        });
        changes.count()
    }

    #[test]
    fn the_size_chooses_the_first_effort() {
        let first = |width: u32, height: u32| {
            EffortLadder::new(f64::from(width * height) * FRAMES_PER_SECOND, FRAMES_PER_SECOND).effort()
        };
        assert_eq!(first(640, 360), Effort::Normal);
        assert_eq!(first(1280, 720), Effort::Fast);
        assert_eq!(first(1920, 1080), Effort::Realtime);
    }

    #[test]
    fn a_busy_machine_lowers_the_effort_step_by_step_and_it_comes_back() {
        let mut ladder = EffortLadder::new(NORMAL_SAMPLES, FRAMES_PER_SECOND);
        assert_eq!(run(&mut ladder, 60, [8.0, 10.0, 15.0]), 0, "there is time");
        assert_eq!((run(&mut ladder, 1, [14.0, 18.0, 45.0]), ladder.effort()), (1, Effort::Fast));
        assert_eq!((run(&mut ladder, 1, [24.0, 30.0, 45.0]), ladder.effort()), (1, Effort::Realtime));
        assert_eq!(run(&mut ladder, 60, [24.0, 30.0, 45.0]), 0, "fast would take too long");
        assert_eq!((run(&mut ladder, 6, [8.0, 10.0, 15.0]), ladder.effort()), (1, Effort::Fast));
        assert_eq!((run(&mut ladder, 6, [8.0, 10.0, 15.0]), ladder.effort()), (1, Effort::Normal));
    }

    #[test]
    fn one_long_frame_changes_nothing() {
        let mut ladder = EffortLadder::new(NORMAL_SAMPLES, FRAMES_PER_SECOND);
        run(&mut ladder, 10, [8.0, 10.0, 15.0]);
        assert!(!ladder.handle_encoded(3.0));
        assert_eq!((run(&mut ladder, 10, [8.0, 10.0, 15.0]), ladder.effort()), (0, Effort::Normal));
    }

    #[test]
    fn the_first_frames_change_nothing() {
        let mut ladder = EffortLadder::new(FAST_SAMPLES, FRAMES_PER_SECOND);
        for milliseconds in [160.0, 62.0, 49.0] {
            assert!(!ladder.handle_encoded(milliseconds / 1000.0));
        }
        assert_eq!((run(&mut ladder, 10, [15.0, 23.0, 33.0]), ladder.effort()), (0, Effort::Fast));
    }

    #[test]
    fn an_effort_that_takes_more_than_it_promised_is_tried_less_and_less() {
        let mut ladder = EffortLadder::new(FAST_SAMPLES, FRAMES_PER_SECOND);
        // By realtime's time there is room for fast, but fast takes nearly three times as long.
        let changes = [60, 600].map(|seconds| run(&mut ladder, seconds, [11.0, 30.0, 60.0]));
        assert!((3..=8).contains(&changes[0]) && (6..=18).contains(&changes[1]), "{changes:?}");
        assert_eq!(run(&mut ladder, 3, [11.0, 30.0, 60.0]), 0);
    }

    #[test]
    fn a_pinned_effort_stays() {
        let mut ladder = EffortLadder::new(NORMAL_SAMPLES, FRAMES_PER_SECOND);
        ladder.pin(Effort::Normal);
        assert_eq!((run(&mut ladder, 60, [60.0, 70.0, 80.0]), ladder.effort()), (0, Effort::Normal));
        ladder.pin(Effort::Realtime);
        assert_eq!((run(&mut ladder, 60, [1.0, 1.0, 1.0]), ladder.effort()), (0, Effort::Realtime));
    }
}
