//! Frames on their way from the source to every feed. A feed that wakes late still gets each frame of the last
//! while, in order; one that joins begins with the newest.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nestcast_proto::Frame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::statistics::Counters;

/// How long a feed may be late, and frames at least.
const KEPT: Duration = Duration::from_millis(250);
const MIN_KEPT_FRAMES: usize = 8;
/// Frames at most: of the fastest source those of so long.
const MAX_KEPT_FRAMES: usize = 256;

/// Where frames are put.
#[derive(Debug)]
pub(crate) struct Outlet {
    newest: watch::Sender<Option<Frame>>,
    all: broadcast::Sender<Frame>,
}

/// Where a feed takes them. A copy begins with the frame that is the newest then.
#[derive(Debug)]
pub(crate) struct Frames {
    newest: watch::Receiver<Option<Frame>>,
    all: broadcast::Receiver<Frame>,
    /// The frame to begin with.
    first: Option<Frame>,
    /// The number of the last frame that was taken.
    last: Option<u64>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    Frame(Frame),
    /// So many frames were missed: whoever takes them slept for too long.
    Missed(u64),
    /// There are no more.
    End,
}

/// A new way for frames, of which one is due every `interval`.
pub(crate) fn channel(interval: Duration) -> (Outlet, Frames) {
    let (newest, watching) = watch::channel(None);
    let due = KEPT.as_nanos() / interval.as_nanos().max(1);
    let kept = usize::try_from(due).unwrap_or(MAX_KEPT_FRAMES).clamp(MIN_KEPT_FRAMES, MAX_KEPT_FRAMES);
    let (all, taking) = broadcast::channel(kept);
    (Outlet { newest, all }, Frames { newest: watching, all: taking, first: None, last: None })
}

impl Outlet {
    /// Counts a frame and hands it to all feeds.
    pub(crate) fn put(&self, counters: &Counters, frame: Frame) {
        Counters::add(&counters.frames, 1);
        let (loops, bytes) = match &frame.loops {
            Some(loops) => (loops.len(), loops.iter().map(|of| of.bytes.len()).sum()),
            None => (1, frame.bytes.len()),
        };
        Counters::add(&counters.encoded_bytes, bytes as u64);
        counters.loops.store(loops as u64, Ordering::Relaxed);
        counters.skipped.store(frame.skipped, Ordering::Relaxed);
        self.newest.send_replace(Some(frame.clone()));
        // Nobody may be there to take it.
        let _ = self.all.send(frame);
    }
}

impl Clone for Frames {
    fn clone(&self) -> Self {
        // In this order a frame may come twice, and is known by its number; in the other it could be missed.
        let (all, newest) = (self.all.resubscribe(), self.newest.clone());
        let first = newest.borrow().clone();
        Self { newest, all, first, last: None }
    }
}

impl Frames {
    /// May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Next {
        if let Some(first) = self.first.take() {
            self.last = Some(first.id);
            return Next::Frame(first);
        }
        loop {
            match self.all.recv().await {
                Ok(frame) if self.last.is_some_and(|last| frame.id <= last) => {}
                Ok(frame) => {
                    self.last = Some(frame.id);
                    return Next::Frame(frame);
                }
                Err(RecvError::Lagged(count)) => return Next::Missed(count),
                Err(RecvError::Closed) => return Next::End,
            }
        }
    }

    /// Waits until there will be no more.
    pub(crate) async fn ended(mut self) {
        while self.newest.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn put(outlet: &Outlet, id: u64) {
        let bytes = Bytes::from_static(&[7; 9]);
        outlet.put(
            &Counters::default(),
            Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes, join: None, loops: None },
        );
    }

    async fn take(frames: &mut Frames) -> Option<u64> {
        match frames.next().await {
            Next::Frame(frame) => Some(frame.id),
            Next::Missed(count) => Some(1000 + count),
            Next::End => None,
        }
    }

    #[tokio::test]
    async fn who_is_late_gets_every_frame_of_a_while_and_who_joins_the_newest() {
        let (outlet, frames) = channel(Duration::from_millis(33));
        let mut early = frames.clone();
        (0..3).for_each(|id| put(&outlet, id));
        let mut late = frames.clone();
        put(&outlet, 3);
        for id in 0..4 {
            assert_eq!(take(&mut early).await, Some(id));
        }
        assert_eq!([take(&mut late).await, take(&mut late).await], [Some(2), Some(3)]);
        (4..24).for_each(|id| put(&outlet, id));
        assert_eq!([take(&mut early).await, take(&mut early).await], [Some(1012), Some(16)]);
        drop(outlet);
        assert_eq!(take(&mut frames.clone()).await, Some(23));
        frames.ended().await;
    }
}
