//! The head of a sender's stream (spec, "Streams"): its kind, then that kind's header.

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::frame::FrameHeader;
use crate::wire::limits::{MAX_FRAME, MAX_HEAD_BYTES, MAX_MODEL};
use crate::wire::message::{PackageHash, package_hash};
use crate::wire::parity::ParityHeader;
use crate::wire::sound::{SoundHeader, SoundPacket};
use crate::wire::varint::{Reader, put_bytes, put_varint};

const FRAME_KIND: u64 = 0;
const MODEL_KIND: u64 = 1;
const BASES_KIND: u64 = 2;
const LATE_KIND: u64 = 3;
const PARITY_KIND: u64 = 4;
const SOUND_KIND: u64 = 5;

/// The head of a stream that a sender opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamHead {
    /// A frame's bytes follow.
    Frame(FrameHeader),
    /// A model package follows.
    Model(ModelHeader),
    /// Base layers that may have been lost follow, each after its frame's header: see [`crate::Bases`].
    Bases,
    /// More bytes of a picture (progressive refinement) follow, whose own stream ended.
    Late(LateHeader),
    /// Parity of a frame's stream follows.
    Parity(ParityHeader),
    /// A packet of sound follows.
    Sound(SoundHeader),
    /// A kind that this build does not know: stop the stream.
    Unknown(u64),
}

/// The header of late bytes of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateHeader {
    /// The number of its frame.
    pub id: u64,
    /// The offset in the frame of the bytes that follow.
    pub offset: u64,
    /// The size of the whole frame in bytes by now; at least `offset`.
    pub full: u64,
}

/// The header of a model package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelHeader {
    /// The package's name.
    pub package: PackageHash,
    /// The package's length in bytes.
    pub length: u64,
}

impl StreamHead {
    /// Encodes the head for the wire.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(MAX_HEAD_BYTES);
        self.write(&mut out);
        out.freeze()
    }

    /// Encodes the whole stream of a packet of sound, which is the same for all receivers.
    #[must_use]
    pub fn sound_stream(packet: &SoundPacket) -> Bytes {
        let mut out = BytesMut::with_capacity(MAX_HEAD_BYTES + packet.bytes.len());
        Self::Sound(packet.header()).write(&mut out);
        out.extend_from_slice(&packet.bytes);
        out.freeze()
    }

    /// Appends the head.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        match self {
            Self::Frame(header) => {
                put_varint(out, FRAME_KIND);
                header.write(out);
            }
            Self::Model(header) => {
                put_varint(out, MODEL_KIND);
                put_bytes(out, &header.package.0);
                put_varint(out, header.length);
            }
            Self::Bases => put_varint(out, BASES_KIND),
            Self::Late(header) => {
                for number in [LATE_KIND, header.id, header.offset, header.full] {
                    put_varint(out, number);
                }
            }
            Self::Parity(header) => {
                put_varint(out, PARITY_KIND);
                header.write(out);
            }
            Self::Sound(header) => {
                put_varint(out, SOUND_KIND);
                header.write(out);
            }
            Self::Unknown(kind) => put_varint(out, *kind),
        }
    }

    /// Reads the head, and returns it with its length in bytes; `None` while it is incomplete.
    ///
    /// # Errors
    /// If the head announces more than a limit allows.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Close> {
        let mut reader = Reader::new(bytes);
        let head = match reader.varint() {
            None => None,
            Some(FRAME_KIND) => FrameHeader::read(&mut reader)?.map(Self::Frame),
            Some(MODEL_KIND) => model(&mut reader)?.map(Self::Model),
            Some(BASES_KIND) => Some(Self::Bases),
            Some(LATE_KIND) => late(&mut reader)?.map(Self::Late),
            Some(PARITY_KIND) => ParityHeader::read(&mut reader)?.map(Self::Parity),
            Some(SOUND_KIND) => SoundHeader::read(&mut reader)?.map(Self::Sound),
            Some(kind) => Some(Self::Unknown(kind)),
        };
        if head.is_none() && bytes.len() >= MAX_HEAD_BYTES {
            return Err(Close::violation("a stream's head is too long"));
        }
        Ok(head.map(|head| (head, bytes.len() - reader.left())))
    }
}

fn late(reader: &mut Reader<'_>) -> Result<Option<LateHeader>, Close> {
    let (Some(id), Some(offset), Some(full)) = (reader.varint(), reader.varint(), reader.varint()) else {
        return Ok(None);
    };
    if full > MAX_FRAME {
        return Err(Close::violation("late bytes are announced of a frame that is too long"));
    }
    if offset > full {
        return Err(Close::violation("late bytes begin after the frame's end"));
    }
    Ok(Some(LateHeader { id, offset, full }))
}

fn model(reader: &mut Reader<'_>) -> Result<Option<ModelHeader>, Close> {
    let (Some(hash), Some(length)) = (reader.bytes(), reader.varint()) else { return Ok(None) };
    let package = package_hash(hash)?;
    if length > MAX_MODEL {
        return Err(Close::violation("a model package is too long"));
    }
    Ok(Some(ModelHeader { package, length }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::limits::MAX_SOUND_PACKET;

    proptest! {
        #[test]
        fn heads_round_trip_and_wait_for_their_last_byte(
            id in 0..1_u64 << 60, captured in 0..1_u64 << 60, full in 0..=MAX_FRAME, share in 0..=100_u64,
        ) {
            let head = StreamHead::Frame(FrameHeader { id, skipped: id / 3, captured, full, base: full * share / 100 });
            let late = LateHeader { id, offset: full * share / 100, full };
            let parity = ParityHeader { stream: id, length: full + 1, pieces: share % 16 + 1, block: share + 1 };
            let sound = SoundHeader { number: id, captured, length: share + 1 };
            for head in [head, StreamHead::Late(late), StreamHead::Parity(parity), StreamHead::Sound(sound)] {
            let bytes = head.encode();
            for cut in 0..bytes.len() {
                prop_assert_eq!(StreamHead::parse(&bytes[..cut]), Ok(None));
            }
            let length = bytes.len();
            prop_assert_eq!(StreamHead::parse(&[&bytes[..], b"more"].concat()), Ok(Some((head, length))));
            }
        }

        #[test]
        fn any_bytes_are_a_head_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(Some((_, length))) = StreamHead::parse(&bytes) {
                prop_assert!(length <= bytes.len());
            }
            prop_assert!(bytes.len() < MAX_HEAD_BYTES || StreamHead::parse(&bytes) != Ok(None));
        }

        #[test]
        fn an_unknown_kind_is_known_as_soon_as_its_number_is_there(kind in 6..1_u64 << 62, more in any::<[u8; 3]>()) {
            let head = StreamHead::Unknown(kind);
            let bytes = StreamHead::Unknown(kind).encode();
            prop_assert_eq!(StreamHead::parse(&bytes[..bytes.len() - 1]), Ok(None));
            prop_assert_eq!(StreamHead::parse(&[&bytes[..], &more].concat()), Ok(Some((head, bytes.len()))));
        }
    }

    #[test]
    fn lies_about_lengths_are_refused() {
        let lie = |full, base| StreamHead::Frame(FrameHeader { id: 0, skipped: 0, captured: 0, full, base }).encode();
        assert!(StreamHead::parse(&lie(10, 11)).is_err());
        assert!(StreamHead::parse(&lie(MAX_FRAME + 1, 1)).is_err());
        let lie = FrameHeader { id: 7, skipped: 8, captured: 0, full: 1, base: 1 };
        assert!(StreamHead::parse(&StreamHead::Frame(lie).encode()).is_err());
        let late = |offset, full| StreamHead::Late(LateHeader { id: 0, offset, full }).encode();
        assert!(StreamHead::parse(&late(11, 10)).is_err());
        assert!(StreamHead::parse(&late(0, MAX_FRAME + 1)).is_err());
        for length in [0, MAX_SOUND_PACKET as u64 + 1] {
            let sound = StreamHead::Sound(SoundHeader { number: 0, captured: 0, length }).encode();
            assert!(StreamHead::parse(&sound).is_err(), "{length}");
        }
        let model = |length| StreamHead::Model(ModelHeader { package: PackageHash([1; 32]), length });
        assert!(StreamHead::parse(&model(MAX_MODEL + 1).encode()).is_err());
        let encoded = model(MAX_MODEL).encode();
        assert_eq!(StreamHead::parse(&encoded), Ok(Some((model(MAX_MODEL), encoded.len()))));
        for length in [0, 6, 31, 33] {
            let mut hash = BytesMut::new();
            put_varint(&mut hash, MODEL_KIND);
            put_bytes(&mut hash, &[1; 33][..length]);
            put_varint(&mut hash, 5);
            assert!(StreamHead::parse(&hash).is_err(), "{length}");
        }
    }
}
