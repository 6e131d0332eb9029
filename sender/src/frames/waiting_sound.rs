//! Packets of sound that were read and are not due yet.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::MAX_SOUND_PACKET;

/// The most packets that wait. A stored video's frames are up to 10 s apart, and its sound is up to 10 s from its frame:
/// that makes 20 s of packets of 20 ms. With the most bytes of a packet this bounds the bytes, 1.3 MB.
const MAX_PACKETS: usize = 1000;

/// The packets, with the times at which they are due.
#[derive(Debug, Default)]
pub(super) struct WaitingSound {
    packets: VecDeque<(Duration, Bytes)>,
    /// Whether a packet was left out: the log says so once.
    has_left_out: bool,
}

impl WaitingSound {
    /// Keeps a packet, unless too many wait or it has more bytes than receivers accept.
    pub(super) fn push(&mut self, due: Duration, packet: Bytes) {
        if self.packets.len() < MAX_PACKETS && packet.len() <= MAX_SOUND_PACKET {
            self.packets.push_back((due, packet));
        } else if !std::mem::replace(&mut self.has_left_out, true) {
            tracing::warn!("the video has more sound than its pictures take time: some of it is left out");
        }
    }

    /// Returns the next packet if its time fulfils a condition.
    pub(super) fn pop_if(&mut self, is_due: impl FnOnce(Duration) -> bool) -> Option<(Duration, Bytes)> {
        self.packets.pop_front_if(|(due, _)| is_due(*due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_sound_is_cut_to_what_pictures_can_take_and_the_rest_goes_on() {
        let mut waiting = WaitingSound::default();
        let time = |number: u64| Duration::from_millis(20 * number);
        for number in 0..100_000 {
            waiting.push(time(number), Bytes::from_static(b"a packet"));
        }
        assert!(waiting.packets.len() == MAX_PACKETS && waiting.has_left_out);
        for number in 0..10 {
            assert!(waiting.pop_if(|due| due == time(number)).is_some(), "{number}");
        }
        assert_eq!(waiting.pop_if(|due| due < time(10)), None);
        waiting.push(time(7), Bytes::from(vec![0; MAX_SOUND_PACKET + 1]));
        assert_eq!(waiting.packets.len(), MAX_PACKETS - 10, "no receiver accepts it");
        waiting.push(time(7), Bytes::from(vec![0; MAX_SOUND_PACKET]));
        assert_eq!(waiting.packets.back().map(|(due, packet)| (*due, packet.len())), Some((time(7), MAX_SOUND_PACKET)));
    }
}
