//! Packets of the sound in a file that has pictures too, with the times that the file states.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, MAX_SOUND_PACKET, Sound, SourceError, TimedSound};

use crate::codec::{PACKET_SAMPLES, SAMPLES_PER_SECOND, SoundEncoder};
use crate::error::Error;
use crate::ogg_opus::samples;
use crate::pcm::{Blocks, to_i16};

/// The time of a packet.
const PACKET_TIME: Duration = Duration::from_millis(20);
/// Sound that is later than this begins anew at its own time: it stopped. Less is rounding, or drift.
const MAX_DRIFT: Duration = Duration::from_millis(100);
/// Times move by one part of this number of a packet's time to follow drift: 0.5 %.
const SLEW_PARTS: u32 = 200;

/// How samples lie in memory, the lowest byte first, the channels in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleFormat {
    /// Whole numbers of 16 bits.
    Int16,
    /// Whole numbers of 24 bits.
    Int24,
    /// Whole numbers of 32 bits.
    Int32,
    /// Numbers of 32 bits from -1 to 1.
    Float32,
}

impl SampleFormat {
    /// Returns the format of samples with this number of bits, 16, 24 or 32, which may be floating-point numbers.
    ///
    /// ```
    /// use nestcast_sound::SampleFormat;
    ///
    /// assert_eq!(SampleFormat::new(24, false), Some(SampleFormat::Int24));
    /// assert_eq!(SampleFormat::new(20, false), None);
    /// ```
    #[must_use]
    pub const fn new(bits: u16, is_float: bool) -> Option<Self> {
        match (bits, is_float) {
            (16, false) => Some(Self::Int16),
            (24, false) => Some(Self::Int24),
            (32, false) => Some(Self::Int32),
            (32, true) => Some(Self::Float32),
            _ => None,
        }
    }
}

/// Makes packets of samples or of Opus. Between the times in the file, the number of samples counts, because times are
/// rounded; where both drift apart, packets follow the file's times slowly.
///
/// ```
/// use std::time::Duration;
/// use nestcast_proto::{Bitrate, TimedSound as _};
/// use nestcast_sound::{SampleFormat, TimedPackets};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut packets = TimedPackets::samples(SampleFormat::Int16, 48_000, 1, Bitrate::from_bits(64_000))?;
/// packets.push(Duration::from_secs(5), &[0; 2 * 960])?;
/// assert_eq!(packets.pop()?.map(|(at, _)| at), Some(Duration::from_secs(5)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TimedPackets {
    kind: Kind,
    sound: Sound,
    lag: Duration,
    /// When the next packet begins.
    next: Option<Duration>,
}

enum Kind {
    Samples { format: SampleFormat, blocks: Blocks, encoder: Box<SoundEncoder> },
    Opus(Option<Bytes>),
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Samples { .. } => "Samples",
            Self::Opus(_) => "Opus",
        })
    }
}

impl TimedPackets {
    /// Encodes samples at `bitrate`.
    ///
    /// # Errors
    /// [`Error::Format`] if there are more than two channels or a rate out of 8 to 192 kHz, [`Error::Bitrate`].
    pub fn samples(format: SampleFormat, rate: u32, channels: u16, bitrate: Bitrate) -> Result<Self, Error> {
        let blocks = Blocks::new(rate, channels)?;
        let sound = blocks.sound();
        let encoder = Box::new(SoundEncoder::new(sound, bitrate)?);
        let lag = Duration::from_secs(encoder.lookahead().into()) / SAMPLES_PER_SECOND;
        Ok(Self { kind: Kind::Samples { format, blocks, encoder }, sound, lag, next: None })
    }

    /// Passes packets of Opus on as they are. Their sound is heard `lag` before their times.
    ///
    /// # Errors
    /// [`Error::Format`] if there are more than two channels.
    pub fn opus(channels: u16, lag: Duration) -> Result<Self, Error> {
        let sound =
            Sound::with_channels(channels.into()).ok_or(Error::Format { rate: SAMPLES_PER_SECOND, channels })?;
        Ok(Self { kind: Kind::Opus(None), sound, lag, next: None })
    }

    /// Follows the file's time of what comes after `waiting`, which waits for the next packet.
    fn follow(&mut self, at: Duration, waiting: Duration) {
        let expected = self.next.map(|next| next + waiting);
        self.next = match expected {
            Some(expected) if at.saturating_sub(expected) <= MAX_DRIFT => {
                let step = PACKET_TIME / SLEW_PARTS;
                let moved = at.clamp(expected.saturating_sub(step), expected + step);
                Some(moved.saturating_sub(waiting))
            }
            _ => Some(at.saturating_sub(waiting)),
        };
    }

    /// Takes bytes, or says why they are no sound.
    fn take(&mut self, at: Duration, bytes: &[u8]) -> Result<(), Error> {
        if let Kind::Opus(packet) = &mut self.kind {
            if samples(bytes) != Some(PACKET_SAMPLES) || bytes.len() > MAX_SOUND_PACKET {
                return Err(Error::Packets);
            }
            *packet = Some(Bytes::copy_from_slice(bytes));
            self.follow(at, Duration::ZERO);
            return Ok(());
        }
        self.follow(at, self.waiting());
        let Kind::Samples { format, blocks, .. } = &mut self.kind else { return Ok(()) };
        blocks.push(&format.read(bytes))
    }

    /// Returns the time of the samples that wait for a packet.
    fn waiting(&self) -> Duration {
        let Kind::Samples { blocks, .. } = &self.kind else { return Duration::ZERO };
        Duration::from_secs(blocks.waiting() as u64) / SAMPLES_PER_SECOND
    }
}

impl SampleFormat {
    /// Reads samples, and rounds them to 16 bits.
    fn read(self, bytes: &[u8]) -> Vec<i16> {
        let high = |high: &[u8]| i16::from_le_bytes([high[0], high[1]]);
        match self {
            Self::Int16 => bytes.as_chunks::<2>().0.iter().map(|sample| high(sample)).collect(),
            Self::Int24 => bytes.as_chunks::<3>().0.iter().map(|sample| high(&sample[1..])).collect(),
            Self::Int32 => bytes.as_chunks::<4>().0.iter().map(|sample| high(&sample[2..])).collect(),
            Self::Float32 => {
                bytes.as_chunks::<4>().0.iter().map(|sample| to_i16(f32::from_le_bytes(*sample) * 32_767.0)).collect()
            }
        }
    }
}

impl TimedSound for TimedPackets {
    fn sound(&self) -> Sound {
        self.sound
    }

    fn lag(&self) -> Duration {
        self.lag
    }

    fn push(&mut self, at: Duration, bytes: &[u8]) -> Result<(), SourceError> {
        self.take(at, bytes).map_err(SourceError::broken_off)
    }

    fn pop(&mut self) -> Result<Option<(Duration, Bytes)>, SourceError> {
        let packet = match &mut self.kind {
            Kind::Opus(packet) => packet.take(),
            Kind::Samples { blocks, encoder, .. } => {
                let encoded = blocks.pop().map(|block| encoder.encode(&block)).transpose();
                encoded.map_err(SourceError::broken_off)?
            }
        };
        let Some(packet) = packet else { return Ok(None) };
        let at = self.next.unwrap_or_default();
        self.next = Some(at + PACKET_TIME);
        Ok(Some((at, packet)))
    }

    fn finish(&mut self) {
        if let Kind::Samples { blocks, .. } = &mut self.kind {
            blocks.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITRATE: Bitrate = Bitrate::from_bits(64_000);

    fn mono() -> TimedPackets {
        TimedPackets::samples(SampleFormat::Int16, SAMPLES_PER_SECOND, 1, BITRATE).expect("a format")
    }

    /// Pushes bytes, and returns the times of the packets that come, in microseconds.
    fn times(packets: &mut TimedPackets, at: Duration, bytes: &[u8]) -> Vec<u128> {
        packets.push(at, bytes).expect("sound");
        std::iter::from_fn(|| packets.pop().expect("a packet")).map(|(at, _)| at.as_micros()).collect()
    }

    #[test]
    fn rounded_times_make_no_gaps_and_drift_is_followed_slowly() {
        let mut packets = mono();
        let mut came = Vec::new();
        // Blocks of 1024 samples whose times are whole milliseconds, by a clock that is 0.1 % fast.
        let millis = |block: u64| block * 1024 * 1001 / 48_000;
        for block in 0..3000 {
            came.extend(times(&mut packets, Duration::from_millis(millis(block)), &[0; 2048]));
        }
        assert_eq!(came.len(), 3000 * 1024 / PACKET_SAMPLES);
        assert!(came.windows(2).all(|pair| (19_800..=20_200).contains(&(pair[1] - pair[0]))));
        let (last, end) = (came[came.len() - 1], u128::from(millis(3000)) * 1000);
        assert!(last.abs_diff(end) < 25_000, "{last} before {end}");
    }

    #[test]
    fn sound_that_stopped_goes_on_at_its_own_time_and_sound_that_goes_back_in_order() {
        let mut packets = mono();
        let ms = Duration::from_millis;
        assert_eq!(times(&mut packets, ms(500), &[0; 2 * 960 + 600]), [500_000]);
        // 300 samples wait: 6.25 ms.
        assert_eq!(times(&mut packets, ms(3000), &[0; 2 * 960]), [3_000_000 - 6250]);
        let back = times(&mut packets, ms(100), &[0; 4 * 960]);
        assert!(back.is_sorted() && back[0] > 3_000_000, "{back:?}");
    }

    #[test]
    fn opus_is_passed_on_and_other_packets_are_refused() {
        let mut encoder = SoundEncoder::new(Sound::Mono, BITRATE).expect("an encoder");
        let packet = encoder.encode(&[7; PACKET_SAMPLES]).expect("20 ms");
        let mut packets = TimedPackets::opus(1, Duration::from_micros(6500)).expect("channels");
        assert_eq!((packets.sound(), packets.lag().as_micros()), (Sound::Mono, 6500));
        packets.push(Duration::from_millis(7), &packet).expect("a packet");
        assert_eq!(packets.pop().expect("it is there"), Some((Duration::from_millis(7), packet)));
        assert!(packets.pop().expect("no more").is_none());
        for wrong in [&[][..], &[0], &[8; 1500]] {
            let refused = packets.push(Duration::ZERO, wrong).expect_err("it is refused").to_string();
            assert!(refused.contains("-frame_duration 20"), "{refused}");
        }
        assert!(matches!(TimedPackets::opus(6, Duration::ZERO), Err(Error::Format { channels: 6, .. })));
    }

    #[test]
    fn samples_of_every_kind_are_the_same_sound() {
        let value = -12_345_i16;
        let [low, high] = value.to_le_bytes();
        let float = (f32::from(value) / 32_767.0).to_le_bytes();
        for (format, bytes) in [
            (SampleFormat::Int16, &[low, high][..]),
            (SampleFormat::Int24, &[9, low, high]),
            (SampleFormat::Int32, &[9, 9, low, high]),
            (SampleFormat::Float32, &float),
        ] {
            assert_eq!(format.read(&bytes.repeat(3)), [value; 3], "{format:?}");
            assert!(format.read(&bytes[1..]).is_empty(), "a part of a sample is left out");
        }
    }
}
