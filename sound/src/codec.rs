//! Opus (RFC 6716) in packets of 20 ms at 48 kHz.

use bytes::Bytes;
use nestcast_proto::{Bitrate, MAX_SOUND_PACKET, Sound};
use ropus::{Application, Channels, DecodeMode, Decoder, Encoder};

use crate::error::Error;

/// Samples of each channel in a second.
pub const SAMPLES_PER_SECOND: u32 = 48_000;
/// Samples of each channel in a packet.
pub const PACKET_SAMPLES: usize = 960;
/// The lowest and the highest bit rate, in bits per second.
pub const MIN_BITRATE: u64 = 16_000;
/// See [`MIN_BITRATE`].
pub const MAX_BITRATE: u64 = 128_000;

/// Encodes sound into packets of at most [`MAX_SOUND_PACKET`] bytes.
pub struct SoundEncoder {
    encoder: Encoder,
    sound: Sound,
    packet: Vec<u8>,
}

/// Decodes packets, and conceals those that were lost.
pub struct SoundDecoder {
    decoder: Decoder,
    samples: Vec<i16>,
}

impl std::fmt::Debug for SoundEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoundEncoder").field("sound", &self.sound).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SoundDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoundDecoder").finish_non_exhaustive()
    }
}

const fn channels(sound: Sound) -> Channels {
    match sound {
        Sound::Mono => Channels::Mono,
        Sound::Stereo => Channels::Stereo,
    }
}

impl SoundEncoder {
    /// Makes an encoder at a mean bit rate.
    ///
    /// # Errors
    /// [`Error::Bitrate`] if the rate is not in [`MIN_BITRATE`]..=[`MAX_BITRATE`].
    pub fn new(sound: Sound, bitrate: Bitrate) -> Result<Self, Error> {
        let bits = bitrate.bits();
        let in_range = (MIN_BITRATE..=MAX_BITRATE).contains(&bits);
        let bits = u32::try_from(bits).ok().filter(|_| in_range).ok_or(Error::Bitrate(bits))?;
        let builder = Encoder::builder(SAMPLES_PER_SECOND, channels(sound), Application::Audio)
            .bitrate(ropus::Bitrate::Bits(bits));
        let encoder = builder.build().map_err(|error| Error::Opus(error.to_string()))?;
        Ok(Self { encoder, sound, packet: vec![0; MAX_SOUND_PACKET] })
    }

    /// Returns the sound that it encodes.
    #[must_use]
    pub const fn sound(&self) -> Sound {
        self.sound
    }

    /// Returns by how many samples decoded sound lags behind what was encoded.
    #[must_use]
    pub fn lookahead(&self) -> u32 {
        self.encoder.lookahead()
    }

    /// Encodes 20 ms: [`PACKET_SAMPLES`] of each channel, left and right in turn if there are two.
    ///
    /// # Errors
    /// [`Error::Opus`] if there is another number of samples.
    pub fn encode(&mut self, samples: &[i16]) -> Result<Bytes, Error> {
        if samples.len() != PACKET_SAMPLES * self.sound.channels() {
            return Err(Error::Opus(format!("a packet has {PACKET_SAMPLES} samples of each channel")));
        }
        let length = self.encoder.encode(samples, &mut self.packet);
        let length = length.map_err(|error| Error::Opus(error.to_string()))?;
        Ok(Bytes::copy_from_slice(&self.packet[..length]))
    }
}

impl SoundDecoder {
    /// Makes a decoder.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder cannot be made.
    pub fn new(sound: Sound) -> Result<Self, Error> {
        let decoder =
            Decoder::new(SAMPLES_PER_SECOND, channels(sound)).map_err(|error| Error::Opus(error.to_string()))?;
        Ok(Self { decoder, samples: vec![0; PACKET_SAMPLES * sound.channels()] })
    }

    /// Decodes the next packet, and returns 20 ms of samples.
    ///
    /// # Errors
    /// [`Error::Opus`] if it is no packet of 20 ms. The decoder can go on with the next packet.
    pub fn decode(&mut self, packet: &[u8]) -> Result<&[i16], Error> {
        if packet.is_empty() || packet.len() > MAX_SOUND_PACKET {
            return Err(Error::Opus("a packet has a length out of range".to_owned()));
        }
        self.take(packet)
    }

    /// Returns 20 ms of samples in place of a packet that is missing: the sound before it goes on, and fades.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder fails.
    pub fn conceal(&mut self) -> Result<&[i16], Error> {
        self.take(&[])
    }

    fn take(&mut self, packet: &[u8]) -> Result<&[i16], Error> {
        let decoded = self.decoder.decode(packet, &mut self.samples, DecodeMode::Normal);
        match decoded.map_err(|error| Error::Opus(error.to_string()))? {
            PACKET_SAMPLES => Ok(&self.samples),
            other => Err(Error::Opus(format!("a packet has {other} samples, not {PACKET_SAMPLES}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]

    use proptest::prelude::*;

    use super::*;

    /// Returns the power of a tone of 440 Hz in decoded samples, relative to all of their power.
    fn purity(samples: &[f64]) -> f64 {
        let angle = std::f64::consts::TAU * 440.0 / f64::from(SAMPLES_PER_SECOND);
        let part = |wave: fn(f64) -> f64| {
            samples.iter().enumerate().map(|(at, sample)| sample * wave(angle * at as f64)).sum::<f64>()
        };
        let (sine, cosine) = (part(f64::sin), part(f64::cos));
        let all: f64 = samples.iter().map(|sample| sample * sample).sum();
        2.0 * (sine * sine + cosine * cosine) / (samples.len() as f64 * all)
    }

    #[test]
    fn a_tone_comes_back_at_every_rate_and_a_lost_packet_is_concealed() {
        let angle = std::f64::consts::TAU * 440.0 / f64::from(SAMPLES_PER_SECOND);
        for sound in [Sound::Mono, Sound::Stereo] {
            for bits in [16_000, 64_000, 128_000] {
                let mut encoder = SoundEncoder::new(sound, Bitrate::from_bits(bits)).expect("an encoder");
                let mut decoder = SoundDecoder::new(sound).expect("a decoder");
                let (mut bytes, mut came) = (0, Vec::new());
                for packet in 0..50 {
                    let sample = |at: usize| ((angle * (packet * PACKET_SAMPLES + at) as f64).sin() * 10_000.0) as i16;
                    let samples: Vec<i16> =
                        (0..PACKET_SAMPLES).flat_map(|at| vec![sample(at); sound.channels()]).collect();
                    let encoded = encoder.encode(&samples).expect("20 ms");
                    bytes += encoded.len();
                    let decoded = if packet == 25 { decoder.conceal() } else { decoder.decode(&encoded) };
                    let decoded = decoded.expect("20 ms");
                    came.extend(decoded.iter().step_by(sound.channels()).map(|sample| f64::from(*sample)));
                }
                assert!((bytes as u64) * 8 < bits + bits / 4, "{bytes} bytes in a second at {bits}");
                let purity = purity(&came[4 * PACKET_SAMPLES..]);
                assert!(purity > 0.9, "{purity} at {bits} with {sound:?}");
            }
        }
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for bits in [0, MIN_BITRATE - 1, MAX_BITRATE + 1, u64::MAX] {
            assert!(
                matches!(SoundEncoder::new(Sound::Mono, Bitrate::from_bits(bits)), Err(Error::Bitrate(_))),
                "{bits}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_a_packet_or_refused_and_the_next_packet_is_decoded(
            packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 1..20),
        ) {
            let mut encoder = SoundEncoder::new(Sound::Stereo, Bitrate::from_bits(64_000)).expect("an encoder");
            let mut decoder = SoundDecoder::new(Sound::Stereo).expect("a decoder");
            let good = encoder.encode(&[100; 2 * PACKET_SAMPLES]).expect("20 ms");
            for packet in packets {
                let _ = decoder.decode(&packet);
                prop_assert_eq!(decoder.decode(&good).expect("it goes on").len(), 2 * PACKET_SAMPLES);
            }
        }
    }
}
