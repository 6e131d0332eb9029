//! When the frames of a stored video are due: by their capture times, or by the video's frame rate.

use std::time::Duration;

/// The longest time between two frames. After a longer one, or one that goes back, a frame is due by the frame rate.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The times of a video's frames, counted from the first.
#[derive(Debug)]
pub(super) struct Schedule {
    interval: Duration,
    /// When the last frame was due; `None` before the first.
    due: Option<Duration>,
    /// When the last frame was captured, if the video says so.
    captured: Option<u64>,
    /// Missing frames since.
    missing: u32,
}

impl Schedule {
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, due: None, captured: None, missing: 0 }
    }

    /// Notes that a frame is missing.
    pub(super) const fn handle_missing(&mut self) {
        self.missing = self.missing.saturating_add(1);
    }

    /// Notes that the video begins again.
    pub(super) const fn begin_again(&mut self) {
        self.captured = None;
    }

    /// Returns when a packet of sound is due that was captured at this time: as far from the last frame as it was
    /// captured. Returns `None` if it is far from it, or that frame has no time.
    pub(super) fn due_of_sound(&self, captured: u64) -> Option<Duration> {
        let (due, frame) = (self.due?, self.captured?);
        let away = Duration::from_micros(captured.abs_diff(frame));
        let place = if captured >= frame { due.checked_add(away) } else { due.checked_sub(away) };
        place.filter(|_| away <= MAX_PAUSE)
    }

    /// Returns when the next frame is due, which was captured at this time in microseconds.
    pub(super) fn next(&mut self, captured: Option<u64>) -> Duration {
        let before = std::mem::replace(&mut self.captured, captured);
        let missing = std::mem::take(&mut self.missing);
        let Some(due) = self.due else { return *self.due.insert(Duration::ZERO) };
        let pause = captured.zip(before).and_then(|(now, before)| now.checked_sub(before)).map(Duration::from_micros);
        let by_rate = self.interval.saturating_mul(missing.saturating_add(1));
        let pause = pause.filter(|pause| *pause <= MAX_PAUSE.max(by_rate)).unwrap_or(by_rate);
        *self.due.insert(due.saturating_add(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(schedule: &mut Schedule, captured: impl IntoIterator<Item = Option<u64>>) -> Vec<u128> {
        captured.into_iter().map(|captured| schedule.next(captured).as_millis()).collect()
    }

    #[test]
    fn frames_follow_their_times_and_the_frame_rate_where_these_are_no_use() {
        let mut schedule = Schedule::new(Duration::from_millis(40));
        let second = 1_000_000;
        assert_eq!(due(&mut schedule, [None, None, Some(7 * second), Some(8 * second)]), [0, 40, 80, 1080]);
        let odd = [Some(8 * second), Some(3 * second), Some(u64::MAX), Some(u64::MAX), None, Some(0)];
        assert_eq!(due(&mut schedule, odd), [1080, 1120, 1160, 1160, 1200, 1240]);
        schedule.begin_again();
        assert_eq!(due(&mut schedule, [Some(second), Some(second + 50_000)]), [1280, 1330]);
    }

    #[test]
    fn sound_is_as_far_from_the_last_frame_as_it_was_captured() {
        let mut schedule = Schedule::new(Duration::from_millis(40));
        assert_eq!(schedule.due_of_sound(0), None);
        due(&mut schedule, [Some(9_000_000), Some(9_050_000)]);
        let times = [9_040_000, 9_070_000, 8_900_000, 30_000_000].map(|at| schedule.due_of_sound(at));
        assert_eq!(times.map(|due| due.map(|due| due.as_millis())), [Some(40), Some(70), None, None]);
    }

    #[test]
    fn missing_frames_take_their_time() {
        let mut schedule = Schedule::new(Duration::from_millis(40));
        schedule.next(Some(0));
        (0..4).for_each(|_| schedule.handle_missing());
        assert_eq!(due(&mut schedule, [Some(210_000)]), [210]);
        (0..4).for_each(|_| schedule.handle_missing());
        assert_eq!(due(&mut schedule, [None, None]), [410, 450]);
    }
}
