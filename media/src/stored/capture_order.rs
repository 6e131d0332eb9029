//! Frames and sound in the order in which they were captured.

use std::collections::BTreeMap;

use super::{RecordedFrame, StoredSound};

/// How long frames and sound wait for those that were captured before them, in microseconds.
const HOLD_MICROS: u64 = 500_000;
/// A capture time that goes back by more than this belongs to another sender: nothing waits for it.
const MAX_BACK_MICROS: u64 = 2_000_000;

/// The most bytes that wait, with a constant for each frame and packet: their times may stand still.
const MAX_WAITING_BYTES: usize = 8 << 20;
const ITEM_BYTES: usize = 256;

/// A frame or a packet to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// A frame.
    Frame(RecordedFrame),
    /// A packet of sound.
    Sound(StoredSound),
}

impl Recorded {
    fn captured(&self) -> u64 {
        match self {
            Self::Frame(frame) => frame.captured,
            Self::Sound(sound) => sound.captured,
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Frame(frame) => frame.bytes.len() + frame.random_access.as_ref().map_or(0, |bytes| bytes.len()),
            Self::Sound(sound) => sound.bytes.len(),
        }
    }
}

/// Puts frames and packets of sound in order. Frames come late, because they are encoded first, and packets come in any
/// order and perhaps twice.
#[derive(Debug, Default)]
pub struct CaptureOrder {
    waiting: BTreeMap<Place, Recorded>,
    waiting_bytes: usize,
    newest: u64,
    /// Nothing before this place is taken any more.
    taken: Place,
    /// The place of the last frame.
    frame: Place,
}

/// A capture time, and of several with the same time sound first, then frames in their order.
type Place = (u64, u64);

impl CaptureOrder {
    /// Takes the next frame or packet, and returns those whose turn it is. A packet that comes again, or too late, is
    /// dropped. Frames stay in the order in which they come, because each is predicted from those before it.
    pub fn push(&mut self, next: Recorded) -> impl Iterator<Item = Recorded> {
        let captured = next.captured();
        let begins_anew = captured.saturating_add(MAX_BACK_MICROS) < self.newest;
        let before = if begins_anew { std::mem::take(self).waiting } else { BTreeMap::new() };
        self.newest = self.newest.max(captured);
        let place = match next {
            Recorded::Sound(_) => (captured, 0),
            Recorded::Frame(_) => {
                self.frame = (captured.max(self.frame.0).max(self.taken.0), self.frame.1 + 1);
                self.frame
            }
        };
        if place >= self.taken {
            self.waiting_bytes += next.length() + ITEM_BYTES;
            let again = self.waiting.insert(place, next);
            self.waiting_bytes -= again.map_or(0, |again| again.length() + ITEM_BYTES);
        }
        self.taken = self.taken.max((self.newest.saturating_sub(HOLD_MICROS), 0));
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry()
            && (*first.key() < self.taken || self.waiting_bytes > MAX_WAITING_BYTES)
        {
            self.taken = self.taken.max(*first.key());
            let first = first.remove();
            self.waiting_bytes -= first.length() + ITEM_BYTES;
            due.push(first);
        }
        before.into_values().chain(due)
    }

    /// Returns what waits, when nothing follows.
    pub fn finish(self) -> impl Iterator<Item = Recorded> {
        self.waiting.into_values()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn frame(millis: u64) -> Recorded {
        Recorded::Frame(RecordedFrame {
            number: millis,
            captured: millis * 1000,
            bytes: Bytes::from_static(b"frame"),
            random_access: None,
        })
    }

    fn sound(millis: u64) -> Recorded {
        Recorded::Sound(StoredSound { captured: millis * 1000, bytes: Bytes::from_static(b"sound") })
    }

    #[test]
    fn late_frames_and_shuffled_packets_are_in_the_order_of_their_times() {
        let mut order = CaptureOrder::default();
        let mut out = Vec::new();
        // Frames are 100 ms late, packets come in pairs the wrong way round, and each twice.
        for at in (0..4000).step_by(40) {
            for packet in [at + 20, at, at + 20, at] {
                out.extend(order.push(sound(packet)));
            }
            if at >= 100 {
                out.extend(order.push(frame(at - 100)));
            }
        }
        assert!(out.len() >= 3400 / 20, "{} of them wait for half a second at most", out.len());
        out.extend(order.finish());
        assert!(out.windows(2).all(|pair| pair[0].captured() <= pair[1].captured()), "{out:?}");
        let packets = out.iter().filter(|it| matches!(it, Recorded::Sound(_))).count();
        assert_eq!((packets, out.len()), (200, 200 + 97));
    }

    #[test]
    fn no_frame_is_dropped_whatever_its_time_and_another_sender_begins_anew() {
        let mut order = CaptureOrder::default();
        let times = [5000, 5000, 9000, 7500, 8000, 100, 140, u64::MAX / 1000, 0];
        let mut out: Vec<_> = times.into_iter().flat_map(|time| order.push(frame(time)).collect::<Vec<_>>()).collect();
        out.extend(order.push(sound(10)));
        out.extend(order.finish());
        let numbers = out.iter().filter_map(|it| if let Recorded::Frame(it) = it { Some(it.number) } else { None });
        assert_eq!(numbers.collect::<Vec<_>>(), times);
    }
    #[test]
    fn times_that_stand_still_hold_little() {
        let mut order = CaptureOrder::default();
        let bytes = Bytes::from(vec![7; 100_000]);
        let frame =
            |number| Recorded::Frame(RecordedFrame { number, captured: 7, bytes: bytes.clone(), random_access: None });
        let out: usize = (0..1000).map(|number| order.push(frame(number)).count()).sum();
        assert!(out >= 1000 - MAX_WAITING_BYTES / 100_000 - 1, "{out}");
        let rest: Vec<_> = order.finish().collect();
        assert_eq!(out + rest.len(), 1000);
        assert_eq!(rest.last(), Some(&frame(999)));
    }
}
