//! The fan-out of one source: each frame goes to every feed, recorder and relay that subscribed.

use std::time::Duration;

use nestcast_proto::BroadcastFrame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

/// How late a consumer may be without missing a frame, and the least number of frames kept.
const KEPT_TIME: Duration = Duration::from_millis(250);
const MIN_KEPT_FRAMES: usize = 8;
/// The most frames kept, for a source with a very short interval.
const MAX_KEPT_FRAMES: usize = 256;

/// Hands frames to all subscribers, and never waits for one of them.
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use nestcast_proto::Frame;
/// use nestcast_sender::{FrameFanout, NextFrame};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let fanout = FrameFanout::new(Duration::from_millis(33));
/// let [mut relay, mut recorder] = [(); 2].map(|()| fanout.subscribe());
/// let bytes = Bytes::from_static(b"a frame");
/// fanout.send(Frame { id: 0, skipped: 0, captured: 0, since: 0, base: 7, bytes, join: None }.into());
/// drop(fanout);
/// for consumer in [&mut relay, &mut recorder] {
///     assert!(matches!(consumer.next().await, NextFrame::Frame(it) if it.frame.id == 0));
///     assert!(matches!(consumer.next().await, NextFrame::End));
/// }
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FrameFanout {
    newest: watch::Sender<Option<BroadcastFrame>>,
    all: broadcast::Sender<BroadcastFrame>,
}

/// Receives the frames of a [`FrameFanout`], beginning with the newest. A late receiver still gets each frame of the
/// last quarter of a second, in order. A clone begins with the frame that is newest when it is cloned.
#[derive(Debug)]
pub struct FrameReceiver {
    newest: watch::Receiver<Option<BroadcastFrame>>,
    all: broadcast::Receiver<BroadcastFrame>,
    /// The frame to begin with.
    first: Option<BroadcastFrame>,
    /// The number of the last frame received.
    last: Option<u64>,
}

/// What a [`FrameReceiver`] gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextFrame {
    /// The next frame.
    Frame(BroadcastFrame),
    /// The consumer was too late: it missed this many frames, and continues with the oldest that is kept.
    Missed(u64),
    /// There are no more frames.
    End,
}

impl FrameFanout {
    /// Makes a fan-out for a source with one frame every `interval`.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        let due = KEPT_TIME.as_nanos() / interval.as_nanos().max(1);
        let kept = usize::try_from(due).unwrap_or(MAX_KEPT_FRAMES).clamp(MIN_KEPT_FRAMES, MAX_KEPT_FRAMES);
        Self { newest: watch::Sender::new(None), all: broadcast::Sender::new(kept) }
    }

    /// Hands a frame to all subscribers, if there are any. Frame numbers must rise.
    pub fn send(&self, frame: BroadcastFrame) {
        self.newest.send_replace(Some(frame.clone()));
        // It fails if nobody has subscribed.
        let _ = self.all.send(frame);
    }

    /// Subscribes a consumer, which begins with the newest frame.
    #[must_use]
    pub fn subscribe(&self) -> FrameReceiver {
        FrameReceiver::begin(self.all.subscribe(), self.newest.subscribe())
    }
}

impl Clone for FrameReceiver {
    fn clone(&self) -> Self {
        Self::begin(self.all.resubscribe(), self.newest.clone())
    }
}

impl FrameReceiver {
    /// Subscribes to `all` before it reads the newest frame. A frame may then come twice, and `next` skips it by its
    /// number; in the other order a frame could be missed.
    fn begin(all: broadcast::Receiver<BroadcastFrame>, newest: watch::Receiver<Option<BroadcastFrame>>) -> Self {
        let first = newest.borrow().clone();
        Self { newest, all, first, last: None }
    }

    /// Waits for the next frame. May be dropped while it waits.
    pub async fn next(&mut self) -> NextFrame {
        if let Some(first) = self.first.take() {
            self.last = Some(first.frame.id);
            return NextFrame::Frame(first);
        }
        loop {
            match self.all.recv().await {
                Ok(next) if self.last.is_some_and(|last| next.frame.id <= last) => {}
                Ok(next) => {
                    self.last = Some(next.frame.id);
                    return NextFrame::Frame(next);
                }
                Err(RecvError::Lagged(count)) => return NextFrame::Missed(count),
                Err(RecvError::Closed) => return NextFrame::End,
            }
        }
    }

    /// Waits until there will be no more frames.
    pub async fn ended(mut self) {
        while self.newest.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_proto::Frame;

    use super::*;

    fn send(fanout: &FrameFanout, id: u64) {
        let bytes = Bytes::from_static(&[7; 9]);
        fanout.send(Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes, join: None }.into());
    }

    async fn take(frames: &mut FrameReceiver) -> Option<u64> {
        match frames.next().await {
            NextFrame::Frame(next) => Some(next.frame.id),
            NextFrame::Missed(count) => Some(1000 + count),
            NextFrame::End => None,
        }
    }

    #[tokio::test]
    async fn who_is_late_gets_every_frame_of_a_while_and_who_joins_the_newest() {
        let fanout = FrameFanout::new(Duration::from_millis(33));
        let mut early = fanout.subscribe();
        (0..3).for_each(|id| send(&fanout, id));
        let mut late = fanout.subscribe();
        send(&fanout, 3);
        for id in 0..4 {
            assert_eq!(take(&mut early).await, Some(id));
        }
        assert_eq!([take(&mut late).await, take(&mut late).await], [Some(2), Some(3)]);
        (4..24).for_each(|id| send(&fanout, id));
        assert_eq!([take(&mut early).await, take(&mut early).await], [Some(1012), Some(16)]);
        let mut clone = early.clone();
        drop(fanout);
        assert_eq!([take(&mut clone).await, take(&mut clone).await], [Some(23), None]);
        early.ended().await;
    }
}
