//! A clock that stands still while the process does, so that pictures and sound go on in step after a pause.
//!
//! A process that was suspended, or that got no processor for a while, is late with everything at once. Each schedule
//! alone would move by its own delay, and pictures and sound would drift apart a little with every pause. Schedules that
//! run by this clock move together, by the same time.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::clock;

/// How often a thread notes that the process runs.
const BEAT_INTERVAL: Duration = Duration::from_millis(20);
/// A longer time without a note is a pause of the process. A shorter delay is made good.
const MAX_BEAT: Duration = Duration::from_millis(100);

/// The clock of this process. All broadcasts share it, because a pause concerns all of them.
static PROCESS_CLOCK: Mutex<Running> = Mutex::new(Running { beats: 0, seen: Duration::ZERO, paused: Duration::ZERO });

/// The state of the clock.
#[derive(Debug)]
struct Running {
    /// The threads that note that the process runs. Without one, no pause is found.
    beats: usize,
    /// The newest time at which the process ran.
    seen: Duration,
    /// How long the process was paused so far.
    paused: Duration,
}

impl Running {
    /// Returns the time that the process ran, at `now`.
    fn at(&mut self, now: Duration) -> Duration {
        let unseen = now.saturating_sub(self.seen);
        if self.beats > 0 && unseen > MAX_BEAT {
            self.paused += unseen - BEAT_INTERVAL;
        }
        self.seen = self.seen.max(now);
        now.saturating_sub(self.paused)
    }

    fn begin(&mut self, now: Duration) {
        self.at(now);
        self.beats += 1;
    }
}

fn process<T>(of: impl FnOnce(&mut Running) -> T) -> T {
    of(&mut PROCESS_CLOCK.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns how long the process has run, without its pauses.
pub(crate) fn now() -> Duration {
    process(|running| running.at(clock::since_start()))
}

/// Returns the moment of this clock in microseconds since 1970. One that has passed lies after the last pause.
pub(crate) fn microseconds_at(moment: Duration) -> u64 {
    let now = process(|running| running.at(clock::since_start()));
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    clock::microseconds().saturating_sub(micros(now.saturating_sub(moment)))
}

/// Finds pauses of the process from now on, until `is_wanted` returns false.
pub(crate) fn find_pauses(is_wanted: impl Fn() -> bool + Send + 'static) {
    process(|running| running.begin(clock::since_start()));
    thread::spawn(move || {
        while is_wanted() {
            thread::sleep(BEAT_INTERVAL);
            now();
        }
        process(|running| running.beats = running.beats.saturating_sub(1));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_do_not_count_and_short_delays_do() {
        let mut running = Running { beats: 0, seen: Duration::ZERO, paused: Duration::ZERO };
        let at = |running: &mut Running, millis| running.at(Duration::from_millis(millis)).as_millis();
        assert_eq!([at(&mut running, 20), at(&mut running, 5000)], [20, 5000], "nobody notes that it runs");
        running.begin(Duration::from_millis(5400));
        assert_eq!([at(&mut running, 5420), at(&mut running, 5520)], [5420, 5520]);
        // Two threads wake after two seconds, one of them with a time that it read before the other.
        assert_eq!([at(&mut running, 7520), at(&mut running, 7519), at(&mut running, 7540)], [5540, 5539, 5560]);
        assert_eq!(at(&mut running, 8540), 5580, "a second pause");
    }
}
