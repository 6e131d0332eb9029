//! The backlog of one receiver of video: every base layer in order, or a random-access frame.

use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::frame::Frame;

/// The most frames of video in one receiver's backlog, and over how long: a delay that a viewer accepts rather than
/// lose frames. With more, a random-access frame arrives sooner.
const MAX_OWED_FRAMES: usize = 64;
const MAX_OWED_TIME: Duration = Duration::from_secs(1);

/// Frames that were due but not begun, and whether the receiver has everything that the next one needs.
#[derive(Debug)]
pub(super) struct Owed {
    frames: VecDeque<Frame>,
    /// The most frames that wait.
    most: usize,
    /// Whether the next frame must be a random-access frame.
    broken: bool,
    /// Whether a frame was queued before.
    begun: bool,
    /// The last random-access frame that was queued.
    joined: Option<u64>,
    /// The last frame that was due.
    newest: Option<u64>,
    /// Frames after the first that this receiver does not get.
    dropped: u64,
}

impl Owed {
    /// Makes a backlog for frames that are due every `interval`.
    pub(super) fn new(interval: Duration) -> Self {
        let in_time = MAX_OWED_TIME.as_nanos() / interval.as_nanos().max(1);
        let most = usize::try_from(in_time).unwrap_or(MAX_OWED_FRAMES).clamp(1, MAX_OWED_FRAMES);
        let frames = VecDeque::new();
        Self { frames, most, broken: true, begun: false, joined: None, newest: None, dropped: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns whether the receiver needs a [random-access frame](crate::RandomAccessFrame) to continue.
    pub(super) const fn needs_random_access(&self) -> bool {
        self.broken
    }

    /// Queues a frame that is due. Returns how many frames are dropped for it, which may include this one.
    pub(super) fn put(&mut self, frame: &Frame) -> u64 {
        self.newest = Some(frame.id);
        let mut given_up = 0;
        if self.frames.len() >= self.most {
            given_up = self.break_off(self.frames.len() as u64);
            self.frames.clear();
        }
        let Some(frame) = frame.for_receiver(self.dropped, self.broken) else { return given_up + self.break_off(1) };
        if self.broken {
            self.joined = Some(frame.id);
        }
        self.broken = false;
        self.begun = true;
        self.frames.push_back(frame);
        given_up
    }

    /// Drops the waiting frames. Returns their number.
    pub(super) fn give_up(&mut self) -> u64 {
        self.miss(0)
    }

    /// Notes that `count` frames were due but never came. Returns the number of waiting frames that are dropped with
    /// them.
    pub(super) fn miss(&mut self, count: u64) -> u64 {
        let waited = self.frames.len() as u64;
        self.frames.clear();
        self.break_off(waited + count).saturating_sub(count)
    }

    /// Returns whether the receiver may lack frame `lost`: it was due, no random-access frame followed, and the next
    /// frame will not be one.
    pub(super) fn may_lack(&self, lost: u64) -> bool {
        let no_random_access_since = self.joined.is_none_or(|joined| joined <= lost);
        let was_due = self.newest.is_some_and(|newest| lost <= newest);
        !self.broken && no_random_access_since && was_due
    }

    /// Returns the frame to begin.
    pub(super) fn take(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Notes that `count` frames are not sent. Returns how many of them the receiver expected.
    const fn break_off(&mut self, count: u64) -> u64 {
        self.broken = true;
        if !self.begun {
            return 0;
        }
        self.dropped += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::wire::frame::RandomAccessFrame;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn frame(id: u64, joins: bool) -> Frame {
        let join = joins.then(|| RandomAccessFrame { base: 3, bytes: Bytes::from_static(b"new") });
        Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes: Bytes::from_static(b"old"), join }
    }

    fn taken(owed: &mut Owed) -> Vec<(u64, u64, usize)> {
        std::iter::from_fn(|| owed.take()).map(|frame| (frame.id, frame.skipped, frame.base)).collect()
    }

    #[test]
    fn of_video_all_wait_from_a_beginning_on_until_they_are_too_many() {
        let mut owed = Owed::new(INTERVAL);
        assert!(owed.needs_random_access());
        assert_eq!([owed.put(&frame(0, false)), owed.put(&frame(1, true))], [0, 0], "it is new, nothing is lost");
        assert!(!owed.needs_random_access());
        let given_up: Vec<_> = (2..11).map(|id| owed.put(&frame(id, true))).collect();
        assert_eq!(given_up, [0; 9]);
        assert_eq!(owed.put(&frame(11, false)), 11, "a second's worth waited, and without a join it helps nobody");
        assert_eq!([owed.put(&frame(12, false)), owed.put(&frame(13, true))], [1, 0]);
        assert_eq!(owed.put(&frame(14, true)), 0);
        assert_eq!(taken(&mut owed), [(13, 12, 3), (14, 12, 1)], "what was given up is not waited for");
    }

    #[test]
    fn a_join_is_known_by_its_number() {
        let mut owed = Owed::new(INTERVAL);
        assert!(!owed.may_lack(9), "it begins with one");
        owed.put(&frame(3, true));
        owed.put(&frame(4, true));
        assert_eq!([2, 3, 4].map(|lost| owed.may_lack(lost)), [false, true, true]);
        assert!(![5, u64::MAX].into_iter().any(|lost| owed.may_lack(lost)), "they were not due yet");
    }

    #[test]
    fn frames_that_were_missed_break_the_chain() {
        let mut owed = Owed::new(INTERVAL);
        owed.put(&frame(0, true));
        assert_eq!(owed.miss(2), 1);
        assert!(owed.needs_random_access());
        owed.put(&frame(3, true));
        assert_eq!(taken(&mut owed), [(3, 3, 3)]);
    }
}
