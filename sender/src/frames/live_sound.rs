//! A source of sound with the frames: a thread that reads packets and hands each on when it is due.

use std::thread;
use std::time::Duration;

use nestcast_proto::SoundSource;

use crate::frames::running_clock;
use crate::frames::schedule::Schedule;
use crate::frames::sound::SoundFanout;

/// The time from one packet to the next.
const PACKET_INTERVAL: Duration = Duration::from_millis(20);
/// How late a packet may be until the schedule moves to it at once. Until then it moves slowly, so that a pipe whose
/// clock is slower than ours, or whose packets come unevenly, has no gaps.
const MAX_LAG: Duration = Duration::from_millis(500);
/// The schedule moves by one part of this number of a packet's time: 0.5 %.
const SLEW_PARTS: u32 = 200;
/// A source that waits for longer than this is said to have stopped, once.
const MAX_SILENCE: Duration = Duration::from_secs(2);

/// When packets are due.
#[derive(Debug)]
struct Packets {
    schedule: Schedule,
    /// When the next is due, after the first.
    after: Duration,
}

impl Packets {
    const fn new(began: Duration) -> Self {
        Self { schedule: Schedule::new(began, MAX_LAG), after: Duration::ZERO }
    }

    /// Takes the next packet, which was asked for and read at these times; returns when it is due. Only a source that
    /// let us wait moves the schedule a little: this thread may be late too, and makes that good.
    fn take(&mut self, asked: Duration, read: Duration) -> Duration {
        let due = self.schedule.due(self.after, read);
        let has_waited = read.saturating_sub(asked) >= PACKET_INTERVAL / 2;
        let slew = if has_waited { read.saturating_sub(due).min(PACKET_INTERVAL / SLEW_PARTS) } else { Duration::ZERO };
        self.schedule.delay(slew);
        self.after += PACKET_INTERVAL;
        due + slew
    }
}

/// Reads sound on a thread until it ends, and hands its packets to `fanout`. The thread ends at the first packet after
/// `is_wanted` returns false. Sound that fails or stops is logged, once, and ends nothing else.
pub(crate) fn start(
    mut source: impl SoundSource + 'static,
    fanout: SoundFanout,
    is_wanted: impl Fn() -> bool + Clone + Send + 'static,
) {
    running_clock::find_pauses(is_wanted.clone());
    thread::spawn(move || {
        let mut packets = Packets::new(running_clock::now());
        let lag = source.lag();
        let mut has_said = false;
        loop {
            let asked = running_clock::now();
            let packet = match source.next() {
                Ok(Some(packet)) => packet,
                Ok(None) => return tracing::info!("the sound ended"),
                Err(error) => return tracing::warn!("the sound broke off, and pictures go on: {error}"),
            };
            let read = running_clock::now();
            let silence = read.saturating_sub(asked);
            if silence > MAX_SILENCE && !std::mem::replace(&mut has_said, true) {
                tracing::warn!("no sound came for {} s: receivers heard silence", silence.as_secs());
            }
            let due = packets.take(asked, read);
            thread::sleep(due.saturating_sub(running_clock::now()));
            if !is_wanted() {
                return;
            }
            // It was captured when it was due, if the machine was late now.
            let captured = running_clock::microseconds_at(due.saturating_sub(lag));
            if !fanout.send(captured, packet) {
                tracing::warn!("a packet of sound has no bytes, or too many: it is left out");
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns when each of the packets is due, if they are read at these times, each as soon as the one before it is
    /// handed on.
    fn due(read: impl Iterator<Item = Duration>) -> Vec<Duration> {
        let mut packets = Packets::new(Duration::ZERO);
        let mut asked = Duration::ZERO;
        read.map(|read| {
            let due = packets.take(asked.min(read), read);
            asked = due.max(read);
            due
        })
        .collect()
    }

    #[test]
    fn a_file_is_due_evenly_and_a_pipe_that_is_slower_is_followed_without_gaps() {
        assert_eq!(due((0..100).map(|_| Duration::ZERO)), (0..100).map(|at| PACKET_INTERVAL * at).collect::<Vec<_>>());
        // 20.05 ms, 0.25 % slower, and up to 10 ms late.
        let read =
            (0..3000_u32).map(|at| Duration::from_micros(20_050) * at + Duration::from_millis(u64::from(at * 7 % 11)));
        let due = due(read.clone());
        for (pair, read) in due.windows(2).zip(read).skip(500) {
            let step = pair[1] - pair[0];
            assert!(step >= PACKET_INTERVAL && step <= PACKET_INTERVAL + PACKET_INTERVAL / SLEW_PARTS, "{step:?}");
            assert!(pair[0].abs_diff(read) < Duration::from_millis(25), "{:?} for one read at {read:?}", pair[0]);
        }
    }

    #[test]
    fn after_a_stop_sound_goes_on_at_once_and_a_thread_that_was_late_moves_nothing() {
        let stopped = Duration::from_secs(3);
        let due = due((0..10).map(|at| if at < 5 { PACKET_INTERVAL * at } else { PACKET_INTERVAL * at + stopped }));
        assert_eq!(due[4..], [80, 3100, 3120, 3140, 3160, 3180].map(Duration::from_millis));
        // The thread runs again after 200 ms, and reads a file at once.
        let mut packets = Packets::new(Duration::ZERO);
        let mut at =
            |millis| packets.take(Duration::from_millis(millis), Duration::from_millis(millis + 1)).as_millis();
        assert_eq!([at(0), at(200), at(201), at(202)], [0, 20, 40, 60]);
    }
}
