//! A receiver's side: puts frames together and says when to show what came of them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::close::Close;
use crate::frame::FrameHeader;
use crate::limits::MAX_OPEN_FRAMES;

/// A frame to show: the prefix that came in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// What the frame said of itself.
    pub header: FrameHeader,
    /// As much of it as came; at least its base.
    pub prefix: Bytes,
    /// When its first bytes came.
    pub first: Duration,
    /// When it was given out.
    pub shown: Duration,
}

/// What came so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Frames that were given out.
    pub shown: u64,
    /// Frames that were not: the base did not come in time, or nothing did.
    pub blank: u64,
    /// Bytes of frames, in time or not.
    pub bytes: u64,
}

/// Puts the frames of one connection together.
#[derive(Debug)]
pub struct Subscriber {
    /// How long after its first bytes a frame is waited for: the sender cuts it when the next one is due.
    patience: Duration,
    open: BTreeMap<u64, Open>,
    /// The first frame that may still be shown.
    next: Option<u64>,
    received: Received,
}

#[derive(Debug)]
struct Open {
    header: FrameHeader,
    bytes: BytesMut,
    first: Duration,
    finished: bool,
}

impl Open {
    fn based(&self) -> bool {
        self.bytes.len() as u64 >= self.header.base && !self.bytes.is_empty()
    }
}

impl Subscriber {
    /// For frames that come every `interval`.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        let patience = interval + interval / 2;
        Self { patience, open: BTreeMap::new(), next: None, received: Received::default() }
    }

    /// What came so far.
    #[must_use]
    pub const fn received(&self) -> Received {
        self.received
    }

    /// A stream began with this head.
    ///
    /// # Errors
    /// If the frame is on the way already, or more frames are open than a sender may have.
    pub fn handle_head(&mut self, now: Duration, header: FrameHeader) -> Result<(), Close> {
        if self.next.is_some_and(|next| header.id < next) {
            return Ok(());
        }
        if self.open.contains_key(&header.id) {
            return Err(Close::violation("a frame came on two streams"));
        }
        if self.open.len() >= MAX_OPEN_FRAMES {
            return Err(Close::violation("too many frames are open at once"));
        }
        self.open.insert(header.id, Open { header, bytes: BytesMut::new(), first: now, finished: false });
        Ok(())
    }

    /// More bytes of frame `id` came, in their order. Those of a frame that was shown or dropped are only counted.
    ///
    /// # Errors
    /// If they are more than the head announced.
    pub fn handle_bytes(&mut self, id: u64, bytes: &[u8]) -> Result<(), Close> {
        self.received.bytes += bytes.len() as u64;
        let Some(open) = self.open.get_mut(&id) else { return Ok(()) };
        if (open.bytes.len() + bytes.len()) as u64 > open.header.full {
            return Err(Close::violation("a frame has more bytes than it announced"));
        }
        open.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The stream of frame `id` ended: no more of it comes.
    pub fn handle_end(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.finished = true;
        }
    }

    /// The next frame to show, in order; `None` until more comes or [`Subscriber::poll_timeout`].
    pub fn poll(&mut self, now: Duration) -> Option<Arrived> {
        // The newest that is ready: what is older would be late.
        let newest = self.open.values().rfind(|open| open.based()).map(|open| open.header.id);
        while let Some(entry) = self.open.first_entry() {
            let (id, open) = (*entry.key(), entry.get());
            let late = newest.is_some_and(|newest| newest > id);
            let due = open.finished || late || now >= open.first + self.patience;
            if !due {
                return None;
            }
            let open = entry.remove();
            if let Some(next) = self.next {
                self.received.blank = self.received.blank.saturating_add(id.saturating_sub(next));
            }
            self.next = id.checked_add(1);
            if !open.based() {
                self.received.blank += 1;
                continue;
            }
            self.received.shown += 1;
            let Open { header, bytes, first, .. } = open;
            return Some(Arrived { header, prefix: bytes.freeze(), first, shown: now });
        }
        None
    }

    /// When to poll again even if nothing comes.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.open.values().map(|open| open.first + self.patience).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(40);

    fn header(id: u64) -> FrameHeader {
        FrameHeader { id, captured: 0, full: 10, base: 4 }
    }

    fn ids(subscriber: &mut Subscriber, now: u64) -> Vec<(u64, usize)> {
        let now = Duration::from_millis(now);
        std::iter::from_fn(|| subscriber.poll(now)).map(|shown| (shown.header.id, shown.prefix.len())).collect()
    }

    #[test]
    fn a_frame_is_shown_when_it_ends_or_is_due_or_the_next_one_is_there() {
        let mut subscriber = Subscriber::new(INTERVAL);
        for id in 0..3 {
            subscriber.handle_head(Duration::ZERO, header(id)).expect("a new frame");
        }
        subscriber.handle_bytes(0, &[0; 10]).expect("within its length");
        subscriber.handle_end(0);
        assert_eq!(ids(&mut subscriber, 1), [(0, 10)]);
        subscriber.handle_bytes(1, &[0; 5]).expect("within its length");
        assert_eq!(ids(&mut subscriber, 2), []);
        subscriber.handle_bytes(2, &[0; 4]).expect("within its length");
        assert_eq!(ids(&mut subscriber, 3), [(1, 5)], "the next base is there");
        assert_eq!(subscriber.poll_timeout(), Some(Duration::from_millis(60)));
        assert_eq!(ids(&mut subscriber, 60), [(2, 4)], "its time is over");
        assert_eq!(subscriber.received(), Received { shown: 3, blank: 0, bytes: 19 });
    }

    #[test]
    fn gaps_and_frames_without_a_base_are_blank_and_late_ones_ignored() {
        let mut subscriber = Subscriber::new(INTERVAL);
        for id in [5, 8] {
            subscriber.handle_head(Duration::ZERO, header(id)).expect("a new frame");
            subscriber.handle_bytes(id, &[0; 4]).expect("within its length");
        }
        assert_eq!(ids(&mut subscriber, 60), [(5, 4), (8, 4)]);
        subscriber.handle_head(Duration::ZERO, header(6)).expect("late, but no offence");
        subscriber.handle_head(Duration::ZERO, header(9)).expect("a new frame");
        subscriber.handle_end(9);
        assert_eq!(ids(&mut subscriber, 61), []);
        assert_eq!(subscriber.received(), Received { shown: 2, blank: 3, bytes: 8 });
    }

    #[test]
    fn lies_close_the_connection() {
        let mut subscriber = Subscriber::new(INTERVAL);
        subscriber.handle_head(Duration::ZERO, header(0)).expect("a new frame");
        assert!(subscriber.handle_head(Duration::ZERO, header(0)).is_err());
        assert!(subscriber.handle_bytes(0, &[0; 11]).is_err());
        for id in 1..MAX_OPEN_FRAMES as u64 {
            subscriber.handle_head(Duration::ZERO, header(id)).expect("within the limit");
        }
        assert!(subscriber.handle_head(Duration::ZERO, header(99)).is_err());
    }
}
