//! The frames of a broadcast as a recorder keeps them.

use nestcast_proto::{DemandEntry, Followed, Frame, RandomAccessFrame, RenditionFollower};

use crate::frames::fanout::{FrameReceiver, NextFrame};

/// Receives all bytes of each frame, from the rendition with the most. Each frame can be decoded from those before it;
/// the first, and the first after a loss, is a [random-access frame](RandomAccessFrame).
///
/// The encoder does not count a recorder as a receiver: the frames are those that are made for receivers.
#[derive(Debug)]
pub struct RecordedFrames {
    frames: FrameReceiver,
    /// States no demand, and asks for random-access frames.
    entry: DemandEntry,
    follower: RenditionFollower,
    needs_random_access: bool,
}

impl RecordedFrames {
    pub(crate) const fn new(frames: FrameReceiver, entry: DemandEntry) -> Self {
        Self { frames, entry, follower: RenditionFollower::of_recorder(), needs_random_access: true }
    }

    /// Waits for the next frame; `None` at the end. May be dropped while it waits. Frame numbers rise: a number that is
    /// left out is a frame that the encoder skipped, or that this recorder was too late for.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let next = match self.frames.next().await {
                NextFrame::Frame(next) => next,
                NextFrame::Missed(_) => {
                    self.needs_random_access = true;
                    continue;
                }
                NextFrame::End => return None,
            };
            let Followed { frame, begins_anew } = self.follower.follow(&next);
            self.needs_random_access |= begins_anew;
            if !self.needs_random_access {
                return Some(frame.clone());
            }
            if let Some(RandomAccessFrame { base, bytes }) = frame.join.clone() {
                self.needs_random_access = false;
                return Some(Frame { base, bytes, ..frame.clone() });
            }
            self.request_random_access();
        }
    }

    /// Asks for a random-access frame with one of the next frames, as [`Frame::join`].
    pub fn request_random_access(&self) {
        self.entry.request_random_access(self.follower.rendition());
    }

    /// Notes that the last frame was not kept: the next one is a random-access frame.
    pub const fn handle_lost(&mut self) {
        self.needs_random_access = true;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use nestcast_proto::Demand;

    use super::*;
    use crate::frames::fanout::FrameFanout;

    /// Sends frame `id`, with a random-access frame of three bytes if `joins`.
    fn send(fanout: &FrameFanout, id: u64, joins: bool) {
        let join = joins.then(|| RandomAccessFrame { base: 3, bytes: Bytes::from_static(b"new") });
        let bytes = Bytes::from_static(b"predicted");
        fanout.send(Frame { id, skipped: 0, captured: id, since: id, base: 1, bytes, join }.into());
    }

    #[tokio::test]
    async fn who_missed_a_frame_asks_for_a_random_access_frame_and_begins_with_it() {
        let (fanout, demand) = (FrameFanout::new(Duration::from_millis(33)), Demand::default());
        let mut frames = RecordedFrames::new(fanout.subscribe(), demand.register());
        let mut kept = Vec::new();
        let mut send_and_take = async |ids: std::ops::Range<u64>, joins: bool, lost: bool| {
            for id in ids {
                send(&fanout, id, joins);
                if joins {
                    let frame = frames.next().await.expect("it goes on");
                    kept.push((frame.id, frame.bytes.len()));
                }
            }
            if lost {
                frames.handle_lost();
            }
        };
        send_and_take(0..2, true, false).await;
        assert!(!demand.take_random_access_request(), "nothing was lost");
        send_and_take(2..3, true, true).await;
        send_and_take(3..4, true, false).await;
        assert_eq!(kept, [(0, 3), (1, 9), (2, 9), (3, 3)]);
        // The fan-out keeps eight frames.
        (4..20).for_each(|id| send(&fanout, id, id == 15));
        drop(fanout);
        let mut rest = Vec::new();
        while let Some(frame) = frames.next().await {
            rest.push((frame.id, frame.bytes.len()));
        }
        assert_eq!(rest, [(15, 3), (16, 9), (17, 9), (18, 9), (19, 9)]);
        assert!(demand.take_random_access_request() && demand.receivers().is_empty());
    }
}
