//! Reads a stream of pictures and sound, and hands each part on when it is due. One schedule is for both, so they stay in
//! step.

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use nestcast_proto::{Captured, MuxedPart, MuxedStream, SourceError};

use crate::frames::latest_value::LatestValue;
use crate::frames::running_clock;
use crate::frames::schedule::Schedule;
use crate::frames::sound::SoundFanout;

/// How late a part may be until the schedule moves to it at once. A shorter delay is made good, or followed slowly where
/// the stream lets us wait.
const MAX_LAG: Duration = Duration::from_millis(250);
/// The schedule moves by one part of this number of the time that passed: 0.5 %.
const SLEW_PARTS: u32 = 200;
/// A stream that let us wait for this long has nothing ready: its clock counts.
const MIN_WAIT: Duration = Duration::from_millis(5);
/// After a longer pause in the times, the next part is due at once; so it is after times that go back by more. No part is
/// due later than this after it was read.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// When parts are due.
#[derive(Debug)]
struct Due {
    schedule: Schedule,
    /// The newest time.
    last: Duration,
    /// What was left out of long pauses.
    skipped: Duration,
}

impl Due {
    const fn new(began: Duration) -> Self {
        Self { schedule: Schedule::new(began, MAX_LAG), last: Duration::ZERO, skipped: Duration::ZERO }
    }

    /// Returns when a part of this time is due, which was asked for and read at these times. A part that comes after
    /// later ones has its place before them, and moves nothing.
    fn take(&mut self, after: Duration, asked: Duration, read: Duration) -> Duration {
        let (passed, late) = (after.saturating_sub(self.last), self.last.saturating_sub(after));
        if late > MAX_PAUSE {
            // The times begin anew.
            *self = Self { last: after, skipped: after, ..Self::new(read) };
            return read;
        }
        self.last = self.last.max(after);
        let due = self.schedule.due(self.last.saturating_sub(self.skipped), read);
        if passed > MAX_PAUSE {
            self.skipped += due.saturating_sub(read);
            return due.min(read);
        }
        let has_waited = read.saturating_sub(asked) >= MIN_WAIT;
        let slew = if has_waited { read.saturating_sub(due).min(passed / SLEW_PARTS) } else { Duration::ZERO };
        self.schedule.delay(slew);
        due.saturating_add(slew).saturating_sub(late).min(read.saturating_add(MAX_PAUSE))
    }
}

/// Reads until the stream ends, or nobody wants pictures. Pictures go to `slot`, and those in `spent` back to the stream
/// for reuse; sound goes to `fanout`.
pub(super) fn read<P: Send + 'static>(
    mut stream: Box<dyn MuxedStream<Picture = P>>,
    slot: &LatestValue<Captured<P>>,
    spent: &Receiver<P>,
    fanout: Option<&SoundFanout>,
) -> Result<(), SourceError> {
    let mut due = Due::new(running_clock::now());
    let (mut free, mut id, mut last) = (None, 0, 0);
    loop {
        let asked = running_clock::now();
        free = free.or_else(|| spent.try_recv().ok());
        let Some((after, part)) = stream.next(&mut free)? else { return Ok(()) };
        let now = running_clock::now();
        let moment = due.take(after, asked, now);
        thread::sleep(moment.saturating_sub(now));
        if slot.is_closed() {
            return Ok(());
        }
        let at = running_clock::microseconds_at(moment);
        match part {
            MuxedPart::Picture(picture) => {
                last = at.max(last);
                free = slot.put(Captured { id, at: last, picture }).map(|captured| captured.picture).or(free);
                id += 1;
            }
            MuxedPart::Sound(packet) => {
                if fanout.is_some_and(|fanout| !fanout.send(at, packet)) {
                    tracing::warn!("a packet of sound has no bytes, or too many: it is left out");
                }
            }
            MuxedPart::SoundFault(fault) => tracing::warn!("the sound broke off, and pictures go on: {fault}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns when parts of these times are due if they are read at these, each as soon as the one before is handed on;
    /// all in milliseconds.
    fn due(parts: impl IntoIterator<Item = (u64, u64)>) -> Vec<u64> {
        let mut due = Due::new(Duration::ZERO);
        let mut asked = Duration::ZERO;
        let mut take = |(after, read): (u64, u64)| {
            let read = Duration::from_millis(read).max(asked);
            let moment = due.take(Duration::from_millis(after), asked, read);
            asked = moment.max(read);
            u64::try_from(moment.as_millis()).expect("short")
        };
        parts.into_iter().map(&mut take).collect()
    }

    #[test]
    fn a_file_is_due_at_its_times_and_a_stream_that_stopped_goes_on_with_all_of_it() {
        assert_eq!(due([(0, 0), (0, 0), (20, 0), (33, 0), (40, 0)]), [0, 0, 20, 33, 40]);
        // Both stop for three seconds.
        assert_eq!(due([(0, 0), (0, 0), (20, 3020), (33, 3020), (40, 3041)]), [0, 0, 3020, 3033, 3040]);
        // The times have a pause of an hour, and then of three seconds.
        assert_eq!(due([(0, 0), (3_600_000, 0), (3_600_040, 0), (3_603_040, 0)]), [0, 0, 40, 3040]);
    }

    #[test]
    fn times_that_go_back_stop_nothing() {
        // One part has a time of an hour before. The schedule goes on after it, and after many of them.
        let hour = [(0, 0), (3_600_000, 0), (0, 0), (3_600_040, 0), (3_600_080, 0), (0, 0), (3_600_120, 0)];
        assert_eq!(due(hour), [0, 0, 0, 0, 40, 40, 40]);
        // A broadcast that ran for an hour, part by part.
        let long = (0..3600).map(|second| (1000 * second, 1000 * second));
        let moments = due(long.chain([(0, 3_599_040), (3_599_080, 3_599_040), (3_599_120, 3_599_040)]));
        assert_eq!(moments[3599..], [3_599_000, 3_599_040, 3_599_040, 3_599_080]);
        // Times that begin anew keep their pace.
        assert_eq!(
            due([(0, 0), (20_000, 0), (30_000, 0), (7, 0), (47, 0), (87, 0)]),
            [0, 0, 10_000, 10_000, 10_040, 10_080]
        );
        // Sound is later than pictures, by little and by much: it has its place, and they keep theirs.
        assert_eq!(due([(0, 0), (40, 0), (20, 0), (80, 0), (60, 0), (120, 0)]), [0, 40, 20, 80, 60, 120]);
        let late = [(0, 0), (8000, 0), (0, 0), (8040, 0), (40, 0), (8080, 0)];
        assert_eq!(due(late), [0, 8000, 0, 8040, 40, 8080]);
    }

    #[test]
    fn a_stream_of_a_slow_clock_is_followed_evenly() {
        // Every 20 ms of the stream takes 20.05 ms.
        let moments = due((0..4000).map(|at| (at * 20, at * 2005 / 100)));
        assert!(moments.windows(2).all(|pair| (20..=21).contains(&(pair[1] - pair[0]))));
        let (last, read) = (moments[3999], 3999 * 2005 / 100);
        assert!(last.abs_diff(read) <= 5, "{last} for {read}");
    }
}
