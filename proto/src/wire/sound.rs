//! Sound (spec, "Sound"): its announcement, and the header of a packet's stream.

use bytes::{Bytes, BytesMut};

use crate::wire::close::{Close, SHORT_MESSAGE};
use crate::wire::limits::MAX_SOUND_PACKET;
use crate::wire::varint::{Reader, put_varint};

/// The number of Opus among the codecs of sound.
const OPUS_CODEC: u64 = 1;

/// The sound of a broadcast: Opus at 48 kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sound {
    /// One channel.
    Mono,
    /// Two channels.
    Stereo,
}

/// One packet of sound, decodable after the packets before it, or after their loss was concealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundPacket {
    /// Its number; it rises by one from packet to packet.
    pub number: u64,
    /// The capture time of its first sample, in microseconds since 1970-01-01 UTC, by the clock of frames' capture
    /// times.
    pub captured: u64,
    /// The packet as the codec made it, 1 to [`MAX_SOUND_PACKET`] bytes.
    pub bytes: Bytes,
}

/// The header of a packet of sound, which precedes its bytes on the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundHeader {
    /// See [`SoundPacket::number`].
    pub number: u64,
    /// See [`SoundPacket::captured`].
    pub captured: u64,
    /// The packet's size in bytes.
    pub length: u64,
}

impl Sound {
    /// Returns the number of channels.
    #[must_use]
    pub const fn channels(self) -> usize {
        match self {
            Self::Mono => 1,
            Self::Stereo => 2,
        }
    }

    /// Returns the sound with this number of channels, if there is one.
    #[must_use]
    pub const fn with_channels(channels: usize) -> Option<Self> {
        match channels {
            1 => Some(Self::Mono),
            2 => Some(Self::Stereo),
            _ => None,
        }
    }

    /// Appends the body of its announcement.
    pub(crate) fn write(self, out: &mut BytesMut) {
        put_varint(out, OPUS_CODEC);
        put_varint(out, self.channels() as u64);
    }

    /// Reads the body of an announcement; `None` for sound of a kind that this build does not know.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        let (codec, channels) = (reader.varint().ok_or(SHORT_MESSAGE)?, reader.varint().ok_or(SHORT_MESSAGE)?);
        Ok(usize::try_from(channels).ok().filter(|_| codec == OPUS_CODEC).and_then(Self::with_channels))
    }
}

impl SoundPacket {
    /// Returns the header that precedes the packet's bytes.
    #[must_use]
    pub const fn header(&self) -> SoundHeader {
        SoundHeader { number: self.number, captured: self.captured, length: self.bytes.len() as u64 }
    }
}

impl SoundHeader {
    /// Appends the header.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        [self.number, self.captured, self.length].into_iter().for_each(|number| put_varint(out, number));
    }

    /// Reads the header; `None` while it is incomplete.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        let (Some(number), Some(captured), Some(length)) = (reader.varint(), reader.varint(), reader.varint()) else {
            return Ok(None);
        };
        if !(1..=MAX_SOUND_PACKET as u64).contains(&length) {
            return Err(Close::violation("a packet of sound has a length out of range"));
        }
        Ok(Some(Self { number, captured, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_of_a_later_version_is_as_none() {
        let read = |codec, channels| {
            let mut body = BytesMut::new();
            [codec, channels].into_iter().for_each(|number| put_varint(&mut body, number));
            Sound::read(&mut Reader::new(&body))
        };
        assert_eq!([read(1, 1), read(1, 2)], [Ok(Some(Sound::Mono)), Ok(Some(Sound::Stereo))]);
        for (codec, channels) in [(0, 1), (2, 2), (1, 0), (1, 3), (1, u64::MAX >> 2)] {
            assert_eq!(read(codec, channels), Ok(None), "{codec} {channels}");
        }
        assert_eq!(Sound::read(&mut Reader::new(&[1])), Err(SHORT_MESSAGE));
    }
}
