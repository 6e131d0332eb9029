//! A source of sound with the frames: a thread that reads packets and hands each on when it is due.

use std::thread;
use std::time::{Duration, Instant};

use nestcast_proto::SoundSource;

use crate::clock;
use crate::frames::sound::SoundFanout;

/// The time from one packet to the next.
const INTERVAL: Duration = Duration::from_millis(20);
/// How late a packet may be until the schedule moves to it at once. Until then it moves slowly, so that a pipe whose
/// clock is slower than ours, or whose packets come unevenly, has no gaps.
const MAX_LAG: Duration = Duration::from_millis(500);
/// The schedule moves by one part of this number of a packet's time: 0.5 %.
const SLEW_PARTS: u32 = 200;
/// A source that waits for longer than this is said to have stopped, once.
const SILENCE: Duration = Duration::from_secs(2);

/// When packets are due.
#[derive(Debug)]
struct Schedule {
    next: Instant,
}

impl Schedule {
    /// Takes a packet that was read at `now`; returns how long to wait until it is due.
    fn take(&mut self, now: Instant) -> Duration {
        let lag = now.saturating_duration_since(self.next);
        self.next += if lag > MAX_LAG { lag } else { lag.min(INTERVAL / SLEW_PARTS) };
        self.next.saturating_duration_since(now)
    }

    /// Goes on to the next packet.
    fn advance(&mut self) {
        self.next += INTERVAL;
    }
}

/// Reads sound on a thread until it ends, and hands its packets to `fanout`. The thread ends at the first packet after
/// `is_wanted` returns false. Sound that fails or stops is logged, once, and ends nothing else.
pub(crate) fn start(
    mut source: impl SoundSource + 'static,
    fanout: SoundFanout,
    is_wanted: impl Fn() -> bool + Send + 'static,
) {
    thread::spawn(move || {
        let mut schedule = Schedule { next: Instant::now() };
        let lag = source.lag();
        let mut has_said = false;
        loop {
            let asked = Instant::now();
            let packet = match source.next() {
                Ok(Some(packet)) => packet,
                Ok(None) => return tracing::info!("the sound ended"),
                Err(error) => return tracing::warn!("the sound broke off, and pictures go on: {error}"),
            };
            if asked.elapsed() > SILENCE && !std::mem::replace(&mut has_said, true) {
                tracing::warn!("no sound came for {} s: receivers heard silence", asked.elapsed().as_secs());
            }
            thread::sleep(schedule.take(Instant::now()));
            if !is_wanted() {
                return;
            }
            // It was captured when it was due, if the machine was late now.
            let late = Instant::now().saturating_duration_since(schedule.next) + lag;
            let late = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            if !fanout.send(clock::microseconds().saturating_sub(late), packet) {
                tracing::warn!("a packet of sound has no bytes, or too many: it is left out");
            }
            schedule.advance();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns when each of the packets is due, if they are read at these times.
    fn due(read: impl Iterator<Item = Duration>) -> Vec<Duration> {
        let began = Instant::now();
        let mut schedule = Schedule { next: began };
        read.map(|at| {
            schedule.take(began + at);
            let due = schedule.next - began;
            schedule.advance();
            due
        })
        .collect()
    }

    #[test]
    fn a_file_is_due_evenly_and_a_pipe_that_is_slower_is_followed_without_gaps() {
        assert_eq!(due((0..100).map(|_| Duration::ZERO)), (0..100).map(|at| INTERVAL * at).collect::<Vec<_>>());
        // 20.05 ms, 0.25 % slower, and up to 10 ms late.
        let read =
            (0..3000_u32).map(|at| Duration::from_micros(20_050) * at + Duration::from_millis(u64::from(at * 7 % 11)));
        let due = due(read.clone());
        for (pair, read) in due.windows(2).zip(read).skip(500) {
            let step = pair[1] - pair[0];
            assert!(step >= INTERVAL && step <= INTERVAL + INTERVAL / SLEW_PARTS, "{step:?}");
            assert!(pair[0].abs_diff(read) < Duration::from_millis(25), "{:?} for one read at {read:?}", pair[0]);
        }
    }

    #[test]
    fn after_a_stop_sound_goes_on_at_once() {
        let stopped = Duration::from_secs(3);
        let due = due((0..10).map(|at| if at < 5 { INTERVAL * at } else { INTERVAL * at + stopped }));
        assert_eq!(due[4..], [80, 3100, 3120, 3140, 3160, 3180].map(Duration::from_millis));
    }
}
