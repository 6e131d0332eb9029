//! Progressive refinement of the shown picture: its late bytes, reassembled in any order of arrival (spec, "Late
//! bytes").

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

/// The most pieces that wait for earlier bytes: one for each stream that overtook another, and a sender has few at
/// once.
const MAX_AHEAD: usize = 4;

/// More of a picture already returned: the bytes that follow those returned before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct More {
    /// The number of its frame.
    pub frame: u64,
    /// The bytes, at least one.
    pub bytes: Bytes,
    /// The size of the whole picture in bytes, as the sender last stated it.
    pub full: u64,
}

/// Late bytes of one frame.
#[derive(Debug, Default)]
pub(crate) struct Late {
    /// The frame, and whether it was returned.
    frame: Option<u64>,
    shown: bool,
    /// The last frame that was returned.
    last: Option<u64>,
    /// The size that the sender states; 0 until it sent late bytes.
    full: u64,
    /// The most bytes kept of a frame.
    most: u64,
    /// Bytes returned, and the bytes that follow them.
    given: u64,
    ready: BytesMut,
    /// Pieces that came out of order, by their offset, and their total length.
    ahead: BTreeMap<u64, BytesMut>,
    held: u64,
    /// When bytes were last returned.
    at: Duration,
}

impl Late {
    /// Keeps at most the first `most` bytes of a frame.
    pub(crate) fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Notes that a frame was returned with its first `given` bytes: late bytes of earlier frames are useless.
    pub(crate) fn handle_shown(&mut self, now: Duration, frame: u64, given: u64) {
        if self.frame != Some(frame) {
            self.begin(frame);
        }
        (self.shown, self.last, self.given, self.at) = (true, Some(frame), given, now);
        self.join();
    }

    /// Adds bytes of a frame at `offset`; `full` is the frame's size as the sender states it.
    pub(crate) fn handle_bytes(&mut self, frame: u64, offset: u64, bytes: &[u8], full: Option<u64>) {
        match self.frame {
            Some(current) if frame < current => return,
            Some(current) if frame == current => {}
            _ => self.begin(frame),
        }
        self.full = self.full.max(full.unwrap_or(0));
        let room = usize::try_from(self.most.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.put(offset, &bytes[..bytes.len().min(room)]);
        self.join();
    }

    /// Returns whether this frame was returned last.
    pub(crate) fn is_shown(&self, frame: u64) -> bool {
        self.last == Some(frame)
    }

    /// Returns when there is more to return: one interval after the last bytes, for a picture that stays.
    pub(crate) fn due(&self, interval: Duration) -> Option<Duration> {
        (self.shown && self.full > 0 && !self.ready.is_empty()).then(|| self.at + interval)
    }

    /// Returns the bytes that are ready.
    pub(crate) fn take(&mut self, now: Duration) -> Option<More> {
        let frame = self.frame?;
        let bytes = self.ready.split().freeze();
        (self.given, self.at) = (self.given + bytes.len() as u64, now);
        Some(More { frame, bytes, full: self.full })
    }

    fn begin(&mut self, frame: u64) {
        *self = Self { frame: Some(frame), last: self.last, ..Self::new(self.most) };
    }

    fn end(&self) -> u64 {
        self.given + self.ready.len() as u64
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let length = bytes.len() as u64;
        if self.shown && offset <= self.end() {
            let known = usize::try_from(self.end() - offset).unwrap_or(usize::MAX);
            self.ready.extend_from_slice(bytes.get(known..).unwrap_or_default());
            return;
        }
        if bytes.is_empty() || self.held + length > self.most {
            return;
        }
        let before = self.ahead.range_mut(..=offset).next_back();
        if let Some((_, piece)) = before.filter(|(at, piece)| **at + piece.len() as u64 == offset) {
            piece.extend_from_slice(bytes);
        } else if self.ahead.len() < MAX_AHEAD && !self.ahead.contains_key(&offset) {
            self.ahead.insert(offset, bytes.into());
        } else {
            return;
        }
        self.held += length;
    }

    /// Moves pieces that are now in order to the ready bytes.
    fn join(&mut self) {
        while self.shown
            && let Some(first) = self.ahead.first_entry()
            && *first.key() <= self.given + self.ready.len() as u64
        {
            let (offset, piece) = first.remove_entry();
            self.held -= piece.len() as u64;
            self.put(offset, &piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    fn pattern(range: std::ops::Range<usize>) -> Vec<u8> {
        range.map(|at| at.to_le_bytes()[0].wrapping_mul(31)).collect()
    }

    fn taken(late: &mut Late) -> Vec<u8> {
        late.take(NOW).map(|more| more.bytes.to_vec()).unwrap_or_default()
    }

    #[test]
    fn pieces_are_put_together_whichever_comes_first() {
        let mut late = Late::new(1000);
        late.handle_bytes(7, 300, &pattern(300..400), Some(500));
        late.handle_bytes(7, 400, &pattern(400..500), Some(500));
        assert_eq!(late.due(NOW), None, "it is not shown yet");
        late.handle_shown(NOW, 7, 100);
        assert_eq!(late.due(NOW), None, "bytes are lacking before them");
        late.handle_bytes(7, 50, &pattern(50..250), None);
        assert_eq!(late.due(NOW), Some(2 * NOW));
        assert_eq!(taken(&mut late), pattern(100..250), "what is known is not given twice");
        late.handle_bytes(7, 250, &pattern(250..310), None);
        assert_eq!(taken(&mut late), pattern(250..500));
        assert_eq!(late.due(NOW), None);
    }

    #[test]
    fn bytes_of_other_frames_and_bytes_that_nobody_announced_are_not_given() {
        let mut late = Late::new(1000);
        late.handle_shown(NOW, 7, 100);
        late.handle_bytes(7, 100, &pattern(100..200), None);
        assert_eq!(late.due(NOW), None, "only what a sender calls late is waited for");
        late.handle_bytes(6, 100, &[0; 100], Some(200));
        assert_eq!(late.due(NOW), None, "it is an older frame's");
        late.handle_bytes(8, 100, &pattern(100..200), Some(200));
        assert_eq!(late.due(NOW), None, "it is a newer frame's");
        late.handle_shown(NOW, 8, 100);
        assert_eq!(taken(&mut late), pattern(100..200));
    }

    proptest! {
        #[test]
        fn whatever_overlaps_or_leaves_gaps_takes_bounded_memory_and_gives_bytes_in_order(
            pieces in proptest::collection::vec((0..3000_usize, 0..700_usize), 0..60), shown in 0..40_usize,
        ) {
            let mut late = Late::new(2000);
            let mut given = pattern(0..50);
            for (number, &(offset, length)) in pieces.iter().enumerate() {
                if number == shown {
                    late.handle_shown(NOW, 7, 50);
                }
                late.handle_bytes(7, offset as u64, &pattern(offset..offset + length), Some(3000));
                prop_assert!(late.held <= 2000 && late.ahead.len() <= MAX_AHEAD);
                prop_assert!(late.ready.len() <= 2000);
                if late.due(NOW).is_some() {
                    given.extend(taken(&mut late));
                }
            }
            let length = given.len();
            prop_assert!(length <= 2000);
            prop_assert_eq!(given, pattern(0..length));
        }
    }
}
