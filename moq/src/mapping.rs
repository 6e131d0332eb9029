//! The mapping of frames to tracks, groups and objects (spec: relay.md, "Tracks").

use bytes::{Bytes, BytesMut};
use nestcast_proto::{Frame, FrameHeader, RandomAccessFrame, StreamHead};

/// The most bytes of an enhancement object. Readers and relays pass an object on as it comes, so a stopped group loses
/// nothing by large ones, and relays spend time on each object.
pub const OBJECT_BYTES: usize = 64 * 1024;

/// The most base layers in a group. A relay ranks its groups, and learns too late that the rank of what it has begun to
/// send has fallen: after each change of the number of base groups it sends some of older frames first. On the other
/// hand, who comes late gets all base layers of the newest group, until a random-access frame begins another one.
pub const BASE_GROUP_FRAMES: u64 = 64;

/// The most packets of sound in a group: 1.28 s. Who comes late gets all packets of the newest group.
pub const SOUND_GROUP_PACKETS: u64 = 64;

/// Numbers groups: frame `id` has the same group number in each track. The numbers go on rising if the publisher is
/// started again, because no frame rate is above one frame a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupNumbers {
    first: u64,
}

impl GroupNumbers {
    /// Numbers the groups of a broadcast that begins `millis` milliseconds after 1970.
    #[must_use]
    pub const fn beginning_at(millis: u64) -> Self {
        Self { first: millis }
    }

    /// Returns the number of a frame's groups.
    #[must_use]
    pub const fn of(self, id: u64) -> u64 {
        self.first.saturating_add(id)
    }
}

/// A frame, cut for its tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    /// The object of the base track.
    pub base: Bytes,
    /// The objects of the enhancement track.
    pub more: Vec<Bytes>,
    /// The objects of the random-access track, if there is a random-access frame.
    pub join: Vec<Bytes>,
}

impl Pieces {
    /// Cuts a frame after `most` bytes and its random-access frame after `most_of_join`, but neither before the end of
    /// its base layer.
    #[must_use]
    pub fn cut(frame: &Frame, most: usize, most_of_join: usize) -> Self {
        let header = frame.header();
        let base = frame.base.min(frame.bytes.len());
        let end = most.clamp(base, frame.bytes.len());
        let join = frame.join.as_ref().map(|join| joined(header, join, most_of_join)).unwrap_or_default();
        Self { base: object(header, &frame.bytes[..base]), more: objects(&frame.bytes.slice(base..end)), join }
    }
}

/// Returns the objects of a random-access frame: its head and base layer, then the rest.
fn joined(header: FrameHeader, join: &RandomAccessFrame, most: usize) -> Vec<Bytes> {
    let full = join.bytes.len();
    let base = join.base.min(full);
    let header = FrameHeader { full: full as u64, base: base as u64, ..header };
    let mut all = vec![object(header, &join.bytes[..base])];
    all.extend(objects(&join.bytes.slice(base..most.clamp(base, full))));
    all
}

/// Returns the object with a frame's head and its base layer, which are the beginning of the frame's stream in a
/// session (spec: session.md, "Frames").
fn object(header: FrameHeader, base: &[u8]) -> Bytes {
    let head = StreamHead::Frame(header).encode();
    let mut object = BytesMut::with_capacity(head.len() + base.len());
    object.extend_from_slice(&head);
    object.extend_from_slice(base);
    object.freeze()
}

/// Cuts bytes into objects that share their memory.
fn objects(bytes: &Bytes) -> Vec<Bytes> {
    (0..bytes.len()).step_by(OBJECT_BYTES).map(|at| bytes.slice(at..bytes.len().min(at + OBJECT_BYTES))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(base: usize, length: usize) -> Frame {
        let bytes = (0..length).map(|at| u8::try_from(at % 251).expect("small")).collect::<Vec<_>>();
        Frame { id: 7, skipped: 2, captured: 5, since: 7, base, bytes: bytes.into(), join: None }
    }

    /// Returns the bytes of a frame's stream in a session, put together again.
    fn joined(pieces: &[Bytes]) -> (FrameHeader, Vec<u8>) {
        let all = pieces.concat();
        let (head, length) = StreamHead::parse(&all).expect("legal").expect("whole");
        let StreamHead::Frame(header) = head else { panic!("{head:?}") };
        (header, all[length..].to_vec())
    }

    #[test]
    fn the_pieces_are_the_frames_stream_in_a_session() {
        let frame = frame(300, 150_000);
        let pieces = Pieces::cut(&frame, usize::MAX, 0);
        assert_eq!(pieces.more.iter().map(Bytes::len).collect::<Vec<_>>(), [65_536, 65_536, 18_628]);
        let all = [&[pieces.base][..], &pieces.more].concat();
        assert_eq!(joined(&all), (frame.header(), frame.bytes.to_vec()));
        assert!(pieces.join.is_empty());
    }

    #[test]
    fn a_cut_never_loses_base_layer() {
        for most in [0, 299, 300, 301, 4999, 5001] {
            let pieces = Pieces::cut(&frame(300, 5000), most, 0);
            let (header, base) = joined(&[pieces.base]);
            let more: usize = pieces.more.iter().map(Bytes::len).sum();
            assert_eq!((header.full, base.len(), more), (5000, 300, most.clamp(300, 5000) - 300), "{most}");
        }
        let odd = Pieces::cut(&frame(90, 40), 9, 9);
        assert_eq!((joined(&[odd.base]).1.len(), odd.more.len()), (40, 0), "a base beyond the frame's end");
    }

    #[test]
    fn a_random_access_frame_replaces_its_frame() {
        let join = RandomAccessFrame { base: 900, bytes: vec![3; 3000].into() };
        let pieces = Pieces::cut(&Frame { join: Some(join), ..frame(300, 5000) }, 0, 2000);
        let (header, bytes) = joined(&pieces.join);
        assert_eq!((header.id, header.full, header.base, bytes.len()), (7, 3000, 900, 2000));
    }

    #[test]
    fn numbers_rise_over_a_restart() {
        let first = GroupNumbers::beginning_at(1_000_000);
        let restarted = GroupNumbers::beginning_at(1_000_000 + 5000);
        assert!(first.of(4999) < restarted.of(0), "after five seconds at a thousand frames a second");
        assert_eq!(first.of(u64::MAX), u64::MAX);
    }
}
