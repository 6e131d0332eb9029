//! Frames that one receiver has yet to get: of pictures the newest, of video every base in order, or a new beginning.

use std::collections::VecDeque;
use std::time::Duration;

use crate::wire::frame::Frame;

/// Most frames of video whose bases one receiver may be owed, and over how long: what a viewer waits for rather than lose.
/// Beyond it a new picture of one frame is there sooner.
const MAX_OWED_FRAMES: usize = 64;
const MAX_OWED_TIME: Duration = Duration::from_secs(1);

/// Frames that were due and are not begun.
#[derive(Debug)]
pub(crate) struct Waiting {
    frames: VecDeque<Frame>,
    /// Of video.
    chain: Option<Chain>,
}

/// How far a receiver has all frames that the next one needs.
#[derive(Debug)]
struct Chain {
    /// Most frames that wait.
    most: usize,
    /// The next frame must be one that stands for all before it.
    broken: bool,
    /// A frame was handed out.
    begun: bool,
    /// The last join among them.
    joined: Option<u64>,
    /// The last frame that was due.
    newest: Option<u64>,
    /// Frames behind the first that this receiver does not get.
    dropped: u64,
}

impl Waiting {
    /// Of pictures: the newest frame makes those before it useless.
    pub(crate) const fn pictures() -> Self {
        Self { frames: VecDeque::new(), chain: None }
    }

    /// Of video, a frame of which is due every `interval`.
    pub(crate) fn video(interval: Duration) -> Self {
        let in_time = MAX_OWED_TIME.as_nanos() / interval.as_nanos().max(1);
        let most = usize::try_from(in_time).unwrap_or(MAX_OWED_FRAMES).clamp(1, MAX_OWED_FRAMES);
        let chain = Chain { most, broken: true, begun: false, joined: None, newest: None, dropped: 0 };
        Self { frames: VecDeque::new(), chain: Some(chain) }
    }

    pub(crate) const fn is_video(&self) -> bool {
        self.chain.is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether the receiver can go on only with a [`Join`](crate::Join).
    pub(crate) fn needs_join(&self) -> bool {
        self.chain.as_ref().is_some_and(|chain| chain.broken)
    }

    /// A frame is due. Gives how many are given up for it, it may be among them.
    pub(crate) fn put(&mut self, frame: &Frame) -> u64 {
        let Some(chain) = &mut self.chain else {
            let before = self.frames.pop_front();
            self.frames.push_back(frame.clone());
            return u64::from(before.is_some());
        };
        chain.newest = Some(frame.id);
        let mut given_up = 0;
        if self.frames.len() >= chain.most {
            given_up = chain.break_off(self.frames.len() as u64);
            self.frames.clear();
        }
        if let Some(frame) = frame.for_receiver(chain.dropped, chain.broken) {
            if chain.broken {
                chain.joined = Some(frame.id);
            }
            (chain.broken, chain.begun) = (false, true);
            self.frames.push_back(frame);
        } else {
            given_up += chain.break_off(1);
        }
        given_up
    }

    /// What waits is of no use any more. Gives how many frames of video that were.
    pub(crate) fn give_up(&mut self) -> u64 {
        self.miss(0)
    }

    /// So many frames were due and never handed over. Gives how many wait and are given up with them.
    pub(crate) fn miss(&mut self, count: u64) -> u64 {
        let Some(chain) = &mut self.chain else { return 0 };
        let waited = self.frames.len() as u64;
        self.frames.clear();
        chain.break_off(waited + count).saturating_sub(count)
    }

    /// Whether the receiver may lack frame `lost`: it was due, and there is no join behind it, nor will the next frame be one.
    pub(crate) fn may_lack(&self, lost: u64) -> bool {
        self.chain.as_ref().is_some_and(|chain| {
            !chain.broken
                && chain.joined.is_none_or(|joined| joined <= lost)
                && chain.newest.is_some_and(|newest| lost <= newest)
        })
    }

    /// The frame to begin.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }
}

impl Chain {
    /// So many frames are not sent. Gives how many the receiver had reason to wait for.
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
    use crate::wire::frame::Join;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn frame(id: u64, joins: bool) -> Frame {
        let join = joins.then(|| Join { base: 3, bytes: Bytes::from_static(b"new") });
        Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes: Bytes::from_static(b"old"), join }
    }

    fn taken(waiting: &mut Waiting) -> Vec<(u64, u64, usize)> {
        std::iter::from_fn(|| waiting.take()).map(|frame| (frame.id, frame.skipped, frame.base)).collect()
    }

    #[test]
    fn of_pictures_the_newest_waits() {
        let mut waiting = Waiting::pictures();
        assert_eq!([waiting.put(&frame(0, false)), waiting.put(&frame(1, true))], [0, 1]);
        assert_eq!(waiting.miss(3), 0);
        assert!(!waiting.needs_join());
        assert_eq!(taken(&mut waiting), [(1, 0, 1)]);
    }

    #[test]
    fn of_video_all_wait_from_a_beginning_on_until_they_are_too_many() {
        let mut waiting = Waiting::video(INTERVAL);
        assert!(waiting.needs_join());
        assert_eq!([waiting.put(&frame(0, false)), waiting.put(&frame(1, true))], [0, 0], "it is new, nothing is lost");
        assert!(!waiting.needs_join());
        let given_up: Vec<_> = (2..11).map(|id| waiting.put(&frame(id, true))).collect();
        assert_eq!(given_up, [0; 9]);
        assert_eq!(waiting.put(&frame(11, false)), 11, "a second's worth waited, and without a join it helps nobody");
        assert_eq!([waiting.put(&frame(12, false)), waiting.put(&frame(13, true))], [1, 0]);
        assert_eq!(waiting.put(&frame(14, true)), 0);
        assert_eq!(taken(&mut waiting), [(13, 12, 3), (14, 12, 1)], "what was given up is not waited for");
    }

    #[test]
    fn a_join_is_known_by_its_number() {
        let mut waiting = Waiting::video(INTERVAL);
        assert!(!waiting.may_lack(9), "it begins with one");
        waiting.put(&frame(3, true));
        waiting.put(&frame(4, true));
        assert_eq!([2, 3, 4].map(|lost| waiting.may_lack(lost)), [false, true, true]);
        assert!(![5, u64::MAX].into_iter().any(|lost| waiting.may_lack(lost)), "they were not due yet");
        assert!(!Waiting::pictures().may_lack(0), "pictures need none");
    }

    #[test]
    fn frames_that_were_missed_break_the_chain() {
        let mut waiting = Waiting::video(INTERVAL);
        waiting.put(&frame(0, true));
        assert_eq!(waiting.miss(2), 1);
        assert!(waiting.needs_join());
        waiting.put(&frame(3, true));
        assert_eq!(taken(&mut waiting), [(3, 3, 3)]);
    }
}
