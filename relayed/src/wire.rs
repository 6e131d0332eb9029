//! The bytes of moq-lite (draft-lcurley-moq-lite) that a subscriber writes and reads.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nestcast_proto::{WireReader, put_bytes, put_varint};

use crate::track::Track;

/// The streams of groups and of a setup message.
const GROUP_STREAM: u64 = 0;
const SETUP_STREAM: u64 = 1;
/// The message that subscribes to a track.
const SUBSCRIBE_MESSAGE: u64 = 2;
/// The setup parameter for what a client does, and its value for one that only subscribes.
const ROLE_PARAMETER: u64 = 3;
const SUBSCRIBER_ROLE: u64 = 2;
/// More than the bytes of a group's head, and of an object's.
pub(crate) const MAX_HEAD_BYTES: usize = 64;

/// A version of moq-lite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// moq-lite-05.
    Five,
    /// moq-lite-06, which numbers the objects of a group.
    Six,
}

impl Version {
    /// All versions, the best one first. Older ones have no timestamps.
    pub const ALL: [Self; 2] = [Self::Six, Self::Five];

    /// Returns the version's name, as TLS and WebTransport negotiate it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Five => "moq-lite-05",
            Self::Six => "moq-lite-06",
        }
    }

    /// Returns the version of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }

    /// Returns the stream with which a client begins.
    #[must_use]
    pub fn setup(self) -> Bytes {
        let mut parameters = BytesMut::new();
        put_varint(&mut parameters, 1);
        put_varint(&mut parameters, ROLE_PARAMETER);
        put_varint(&mut parameters, 1);
        put_varint(&mut parameters, SUBSCRIBER_ROLE);
        let mut stream = BytesMut::new();
        put_varint(&mut stream, SETUP_STREAM);
        put_bytes(&mut stream, &parameters);
        stream.freeze()
    }

    /// Returns the beginning of a stream that subscribes to a track from now on. With a first group, its groups go before
    /// those of another subscription to the track, until [`Version::update`].
    #[must_use]
    pub fn subscribe(self, number: u64, broadcast: &str, track: Track, first: Option<u64>) -> Bytes {
        let mut message = BytesMut::new();
        put_varint(&mut message, number);
        put_bytes(&mut message, broadcast.as_bytes());
        put_bytes(&mut message, track.name().as_bytes());
        let priority = track.priority() + u8::from(first.is_some());
        self.put_wish(&mut message, priority, Track::MAX_FIRST_AGE.min(track.max_age()), first);
        let mut stream = BytesMut::new();
        put_varint(&mut stream, SUBSCRIBE_MESSAGE);
        put_bytes(&mut stream, &message);
        stream.freeze()
    }

    /// Returns the message by which the stream of a subscription asks for groups that are as late as its track's may be.
    #[must_use]
    pub fn update(self, track: Track) -> Bytes {
        let mut message = BytesMut::new();
        self.put_wish(&mut message, track.priority(), track.max_age(), None);
        let mut framed = BytesMut::new();
        put_bytes(&mut framed, &message);
        framed.freeze()
    }

    /// Writes which groups are wanted: those that are not older than `max_age`, from the first one on.
    fn put_wish(self, message: &mut BytesMut, priority: u8, max_age: Duration, first: Option<u64>) {
        message.extend_from_slice(&[priority]);
        // The fifth version has the order of groups, which no relay heeds, and says 0 for the newest group; the sixth has
        // the bounds of objects.
        let (order, first, ends) = match self {
            Self::Five => (&[0][..], first.map_or(0, |first| first.saturating_add(1)), &[0; 1][..]),
            Self::Six => (&[][..], first.unwrap_or_default(), &[0; 3][..]),
        };
        message.extend_from_slice(order);
        put_varint(message, u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX));
        put_varint(message, first);
        message.extend_from_slice(ends);
    }
}

/// The head of a group's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHead {
    /// The number of the subscription.
    pub subscription: u64,
    /// The number of the group.
    pub number: u64,
    /// The number of the first object that the stream has.
    pub first: u64,
}

impl GroupHead {
    /// Reads the head of a stream that a relay opened, and returns its length too; `None` while it is incomplete, and
    /// `Some(None)` if the stream is no group's.
    #[must_use]
    pub fn parse(stream: &[u8]) -> Option<Option<(Self, usize)>> {
        let mut reader = WireReader::new(stream);
        if reader.varint()? != GROUP_STREAM {
            return Some(None);
        }
        let length = reader.varint()?;
        if length > MAX_HEAD_BYTES as u64 {
            return Some(None);
        }
        let mut message = WireReader::new(reader.take(usize::try_from(length).ok()?)?);
        let head = (|| {
            let (subscription, number) = (message.varint()?, message.varint()?);
            // The sixth version has it.
            Some(Self { subscription, number, first: message.varint().unwrap_or_default() })
        })();
        Some(head.map(|head| (head, stream.len() - reader.left())))
    }
}

/// Reads the head of an object: returns the number of its bytes, and the length of the head; `None` while it is
/// incomplete. The timestamp before it is also in the frame's or packet's own head.
pub(crate) fn object_head(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut reader = WireReader::new(bytes);
    let _timestamp = reader.varint()?;
    let size = reader.varint()?;
    Some((size, bytes.len() - reader.left()))
}

/// Reads the beginning of a stream that this end opened: `None` while it is incomplete, the track and the number of the
/// subscription if it subscribes to one of ours.
#[must_use]
pub fn subscription(stream: &[u8]) -> Option<Option<(Track, u64)>> {
    let mut reader = WireReader::new(stream);
    if reader.varint()? != SUBSCRIBE_MESSAGE {
        return Some(None);
    }
    let _length = reader.varint()?;
    let number = reader.varint()?;
    let _broadcast = reader.bytes()?;
    let name = reader.bytes()?;
    let track = Track::ALL.into_iter().find(|known| known.name().as_bytes() == name);
    Some(track.map(|track| (track, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_draft() {
        assert_eq!(&Version::Six.setup()[..], [1, 4, 1, 3, 1, 2]);
        let text = |track: &str| [&[u8::try_from(track.len()).expect("short")][..], track.as_bytes()].concat();
        let body = |rest: &[u8]| [&[3][..], &text("garden"), &text("more"), &[50], rest].concat();
        let message = |body: Vec<u8>| [&[2, u8::try_from(body.len()).expect("short")][..], &body].concat();
        let six = Version::Six.subscribe(3, "garden", Track::More, None);
        assert_eq!(six, message(body(&[50, 0, 0, 0, 0])));
        let five = Version::Five.subscribe(3, "garden", Track::More, None);
        assert_eq!(five, message(body(&[0, 50, 0, 0])));
        let later = |version: Version| version.subscribe(3, "garden", Track::More, Some(7)).split_off(15);
        assert_eq!(&later(Version::Six)[..], [51, 50, 7, 0, 0, 0]);
        assert_eq!(&later(Version::Five)[..], [51, 0, 50, 8, 0]);
        assert_eq!(&Version::Six.update(Track::More)[..], [7, 50, 0x41, 0x2C, 0, 0, 0, 0]);
        assert_eq!(&Version::Five.update(Track::More)[..], [6, 50, 0, 0x41, 0x2C, 0, 0]);
        assert_eq!(subscription(&six), Some(Some((Track::More, 3))));
        assert_eq!((Version::named("moq-lite-05"), Version::named("moq-lite-07")), (Some(Version::Five), None));
    }

    #[test]
    fn a_subscription_is_found_as_soon_as_its_tracks_name_is_there() {
        let head = Version::Six.subscribe(3, "cam", Track::More, None);
        for length in 0..12 {
            assert_eq!(subscription(&head[..length]), None, "{length}");
        }
        assert_eq!(subscription(&head[..12]), Some(Some((Track::More, 3))));
        assert_eq!(subscription(&[2, 20, 2, 0, 4, b'e', b'l', b's', b'e']), Some(None));
        assert_eq!(subscription(&[1, 9]), Some(None), "another message");
    }

    #[test]
    fn a_groups_head_is_read_from_its_first_bytes() {
        let head = [0, 4, 3, 0x40, 0xC8, 0, 9];
        for length in 0..6 {
            assert_eq!(GroupHead::parse(&head[..length]), None, "{length}");
        }
        let six = GroupHead { subscription: 3, number: 200, first: 0 };
        assert_eq!(GroupHead::parse(&head), Some(Some((six, 6))));
        assert_eq!(GroupHead::parse(&[0, 3, 3, 0x40, 0xC8, 9]), Some(Some((six, 5))), "the fifth version's");
        assert_eq!(GroupHead::parse(&[1, 2, 3]), Some(None), "another stream");
        assert_eq!(GroupHead::parse(&[0, 2, 0x40, 0xC8]), Some(None), "a head that ends too early");
        assert_eq!(GroupHead::parse(&[0, 0x7F, 0xFF]), Some(None), "a head that is too long");
    }

    #[test]
    fn an_objects_head_has_its_length() {
        assert_eq!(object_head(&[0x41, 0, 0x40, 0x50, 7]), Some((80, 4)));
        assert_eq!(object_head(&[0x41, 0, 0x40]), None);
    }
}
