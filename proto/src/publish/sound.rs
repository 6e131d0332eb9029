//! Sound for one receiver: which packets go out, and what they cost.
//!
//! Each packet has a stream of its own, before all others: a lost packet delays no other, and no frame delays it. A
//! packet is never cut. Its bytes count in the receiver's cap and in the path's room, so frames get what is left.

use bytes::Bytes;

use crate::publish::stats::SoundSendStats;
use nestcast_units::Bitrate;

/// The most streams of sound that are not known to have arrived. A path that is down gets no more: they would use up
/// the streams that bases need, and be too late.
const MAX_UNSETTLED_STREAMS: usize = 24;
/// Packets in a second.
const PACKETS_PER_SECOND: u64 = 50;
/// The share of a packet in the mean size.
const MEAN_PACKETS: u64 = 8;
/// Sound is sent to receivers whose cap is at least this many times its rate: pictures get the rest.
const CAP_PER_RATE: u64 = 2;

/// The sound of one receiver.
#[derive(Debug, Default)]
pub(super) struct Sound {
    /// The mean size of a packet's stream, in bytes.
    mean_bytes: Option<u64>,
    stats: SoundSendStats,
}

impl Sound {
    /// Takes the stream of a packet that is due, while `unsettled` earlier ones are not known to have arrived. Returns
    /// whether it is sent.
    pub(super) fn handle_packet(&mut self, stream: &Bytes, unsettled: usize, cap: Option<Bitrate>) -> bool {
        let bytes = stream.len() as u64;
        let mean = self.mean_bytes.unwrap_or(bytes);
        self.mean_bytes = Some((mean * (MEAN_PACKETS - 1) + bytes).div_ceil(MEAN_PACKETS));
        let is_sent = unsettled < MAX_UNSETTLED_STREAMS && !cap.is_some_and(|cap| self.is_too_much_for(cap));
        if is_sent {
            self.stats.packets += 1;
            self.stats.bytes += bytes;
        } else {
            self.stats.skipped += 1;
        }
        is_sent
    }

    /// Notes that the receiver wants no sound.
    pub(super) const fn handle_unwanted(&mut self) {
        self.mean_bytes = None;
    }

    /// Returns what is left of `rate` for frames; at least a quarter of it.
    pub(super) fn left_of(&self, rate: Bitrate) -> Bitrate {
        let bits = rate.bits();
        Bitrate::from_bits(bits.saturating_sub(self.bits_per_second()).max(bits / 4))
    }

    /// Returns what was sent so far.
    pub(super) const fn stats(&self) -> SoundSendStats {
        self.stats
    }

    fn is_too_much_for(&self, cap: Bitrate) -> bool {
        self.bits_per_second() * CAP_PER_RATE > cap.bits()
    }

    fn bits_per_second(&self) -> u64 {
        self.mean_bytes.unwrap_or_default() * 8 * PACKETS_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_down_and_a_cap_that_is_low_get_no_sound() {
        let mut sound = Sound::default();
        let stream = Bytes::from_static(&[7; 175]);
        assert!((0..10).all(|_| sound.handle_packet(&stream, MAX_UNSETTLED_STREAMS - 1, None)));
        assert!(!sound.handle_packet(&stream, MAX_UNSETTLED_STREAMS, None));
        assert!(!sound.handle_packet(&stream, 0, Some(Bitrate::from_bits(139_999))), "70 kbit/s are more than half");
        assert!(sound.handle_packet(&stream, 0, Some(Bitrate::from_bits(140_000))));
        assert_eq!(sound.stats(), SoundSendStats { packets: 11, bytes: 11 * 175, skipped: 2 });
        let left = |sound: &Sound, bits| sound.left_of(Bitrate::from_bits(bits)).bits();
        assert_eq!([left(&sound, 1_000_000), left(&sound, 80_000)], [930_000, 20_000]);
        sound.handle_unwanted();
        assert_eq!(left(&sound, 80_000), 80_000);
    }
}
