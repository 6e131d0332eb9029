//! The last frames, whose base layers are sent again if a fall of the path's rate may have lost them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::PathStats;
use crate::wire::bases;
use crate::wire::frame::Frame;
use crate::wire::limits::{MAX_BASE_AGAIN, MAX_OPEN_FRAMES};

/// Frames in flight to one receiver.
#[derive(Debug)]
pub(crate) struct Recent {
    interval: Duration,
    /// Each frame with the time at which it was due; for video, when it was begun.
    frames: VecDeque<(Duration, Frame)>,
    /// Falls of the path's rate that were answered.
    rate_drops: u64,
}

impl Recent {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, frames: VecDeque::new(), rate_drops: 0 }
    }

    /// Adds a frame that is due.
    pub(crate) fn handle_frame(&mut self, now: Duration, frame: &Frame) {
        if self.frames.len() == MAX_OPEN_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back((now, frame.clone()));
    }

    /// If the path's rate fell, returns the stream of base layers to send again: those of all frames sent since, or
    /// shortly before, the packets in flight at the fall were sent.
    pub(crate) fn handle_path(&mut self, now: Duration, path: &PathStats) -> Option<Bytes> {
        if std::mem::replace(&mut self.rate_drops, path.rate_drops) == path.rate_drops {
            return None;
        }
        let since = now.saturating_sub(path.rtt + path.drop_lead_time + 2 * self.interval);
        let on_the_way = self.frames.iter().filter(|(due, frame)| *due >= since && frame.base <= MAX_BASE_AGAIN);
        let mut on_the_way = on_the_way.map(|(_, frame)| frame).peekable();
        on_the_way.peek()?;
        Some(bases::encode(on_the_way))
    }
}

/// For video, whose base layers must all arrive.
impl Recent {
    /// Returns whether the path's rate fell since the last frame.
    pub(crate) const fn has_fallen(&self, path: &PathStats) -> bool {
        self.rate_drops != path.rate_drops
    }

    /// Notes that everything sent of the frames up to this one arrived.
    pub(crate) fn handle_arrived(&mut self, id: u64) {
        while self.frames.front().is_some_and(|(_, frame)| frame.id <= id) {
            self.frames.pop_front();
        }
    }

    /// Like [`Recent::handle_path`], but returns the oldest frame not known to have arrived, and the base layers of all
    /// frames from it on. No frame from `unfinished` on may be left out. If that is too far back, or a base layer is
    /// too long, none is sent again: the transport repairs the loss.
    pub(crate) fn owed_again(&mut self, path: &PathStats, unfinished: Option<u64>) -> Option<(u64, Bytes)> {
        if std::mem::replace(&mut self.rate_drops, path.rate_drops) == path.rate_drops {
            return None;
        }
        let (_, oldest) = self.frames.front()?;
        if unfinished.is_some_and(|first| oldest.id > first) {
            return None;
        }
        let again = || self.frames.iter().map(|(_, frame)| frame);
        again().all(|frame| frame.base <= MAX_BASE_AGAIN).then(|| (oldest.id, bases::encode(again())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::bases::Bases;

    const INTERVAL: Duration = Duration::from_millis(33);

    /// Returns the ids whose base layers are sent again after a fall, if frames with these base sizes were due one an
    /// interval.
    fn again(bases: &[usize], rtt: Duration) -> Vec<u64> {
        let mut recent = Recent::new(INTERVAL);
        for (id, &base) in (0..).zip(bases) {
            let frame =
                Frame { id, skipped: 0, captured: 0, since: id, base, bytes: vec![0; base + 10].into(), join: None };
            recent.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &frame);
        }
        let now = INTERVAL * u32::try_from(bases.len()).expect("few");
        let path = PathStats { rtt, rate_drops: 1, ..PathStats::default() };
        let Some(stream) = recent.handle_path(now, &path) else { return Vec::new() };
        assert!(recent.handle_path(now, &path).is_none(), "once for each fall");
        let mut read = Bases::default();
        read.handle_bytes(&stream[1..]);
        std::iter::from_fn(|| read.poll().expect("it keeps the limits")).map(|(header, _)| header.id).collect()
    }

    #[test]
    fn bases_of_frames_on_the_way_go_again_if_they_are_not_too_long() {
        assert_eq!(again(&[100; 8], INTERVAL), [5, 6, 7]);
        assert_eq!(again(&[100; 40], Duration::from_secs(9)).len(), MAX_OPEN_FRAMES);
        assert_eq!(again(&[100, MAX_BASE_AGAIN + 1, 100], INTERVAL), [0, 2]);
        assert_eq!(again(&[MAX_BASE_AGAIN + 1], INTERVAL), []);
    }
}
