//! Opus packets of an Ogg stream (RFC 7845), as they are.

use std::io::Read;

use bytes::Bytes;
use nestcast_proto::{MAX_SOUND_PACKET, Sound};
use ogg::PacketReader;

use crate::codec::PACKET_SAMPLES;
use crate::error::Error;
use crate::rewind::Rewind;

/// The bytes of the first packet that are read (RFC 7845, section 5.1).
const HEAD_MAGIC: &[u8] = b"OpusHead";
const HEAD_BYTES: usize = 19;

/// Reads packets of 20 ms.
pub(crate) struct OggOpus<R: Read> {
    packets: PacketReader<Rewind<R>>,
    sound: Sound,
    /// Samples at the beginning that are not sound.
    skipped: u16,
}

impl<R: Read> OggOpus<R> {
    /// Reads the two packets of headers.
    pub(crate) fn new(input: Rewind<R>) -> Result<Self, Error> {
        let mut packets = PacketReader::new(input);
        let mut header = || packets.read_packet_expected().map_err(refuse);
        let head = header()?.data;
        header()?;
        if head.len() < HEAD_BYTES || !head.starts_with(HEAD_MAGIC) {
            return Err(Error::Ogg("its first stream is not Opus".to_owned()));
        }
        let channels = head[9];
        let sound =
            Sound::with_channels(channels.into()).ok_or(Error::Format { rate: 48_000, channels: channels.into() })?;
        Ok(Self { packets, sound, skipped: u16::from_le_bytes([head[10], head[11]]) })
    }

    pub(crate) const fn sound(&self) -> Sound {
        self.sound
    }

    /// Returns the number of samples at the beginning that are not sound.
    pub(crate) const fn skipped(&self) -> u16 {
        self.skipped
    }

    /// Returns the next packet; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(packet) = self.packets.read_packet().map_err(refuse)? else { return Ok(None) };
        let bytes = packet.data;
        if bytes.starts_with(HEAD_MAGIC) {
            return Err(Error::Ogg("another stream follows the first".to_owned()));
        }
        if samples(&bytes) != Some(PACKET_SAMPLES) || bytes.len() > MAX_SOUND_PACKET {
            return Err(Error::Ogg("its packets are not of 20 ms: encode it with --framesize 20".to_owned()));
        }
        Ok(Some(bytes.into()))
    }
}

fn refuse(error: ogg::OggReadError) -> Error {
    match error {
        ogg::OggReadError::ReadError(error) => error.into(),
        other => Error::Ogg(other.to_string()),
    }
}

/// Returns how many samples of each channel a packet has (RFC 6716, section 3.1); `None` for one without frames.
pub(crate) fn samples(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    let config = usize::from(first >> 3);
    let frame = match config {
        0..=11 => [480, 960, 1920, 2880][config & 3],
        12..=15 => [480, 960][config & 1],
        _ => [120, 240, 480, 960][config & 3],
    };
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => usize::from(packet.get(1)? & 63),
    };
    Some(frame * frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_packet_is_in_its_first_bytes() {
        // SILK of 10, 20 and 60 ms, hybrid of 20 ms, CELT of 2.5 and 20 ms, and then more frames than one.
        for (packet, expected) in [
            (&[0_u8][..], Some(480)),
            (&[1 << 3], Some(960)),
            (&[3 << 3], Some(2880)),
            (&[13 << 3], Some(960)),
            (&[16 << 3], Some(120)),
            (&[31 << 3], Some(960)),
            (&[31 << 3 | 1], Some(1920)),
            (&[30 << 3 | 3, 2], Some(960)),
            (&[31 << 3 | 3], None),
            (&[], None),
        ] {
            assert_eq!(samples(packet), expected, "{packet:?}");
        }
    }
}
