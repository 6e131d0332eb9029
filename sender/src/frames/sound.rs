//! The fan-out of sound: each packet goes to every feed, recorder and relay that subscribed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use nestcast_proto::{MAX_SOUND_PACKET, SoundPacket, StreamHead};
use tokio::sync::broadcast::{self, error::RecvError};

/// How many packets of sound a feed may be late without missing one: 320 ms.
const KEPT_PACKETS: usize = 16;

/// Hands packets of sound to a running broadcast. It may be used from any thread, such as that of a microphone, and
/// never waits. Clones hand packets to the same broadcast.
///
/// ```
/// use bytes::Bytes;
/// use nestcast_sender::{SoundFanout, clock_micros};
///
/// let sound = SoundFanout::new(); // for `Broadcast::sound`
/// // A microphone's thread: every 20 ms it has a packet of Opus, whose first sample is 20 ms old.
/// let packet = Bytes::from_static(&[0xF8, 0xFF, 0xFE]);
/// assert!(sound.send(clock_micros() - 20_000, packet));
/// assert!(!sound.send(clock_micros(), Bytes::new()), "that is no packet");
/// ```
#[derive(Debug, Clone)]
pub struct SoundFanout {
    all: broadcast::Sender<Due>,
    next: Arc<AtomicU64>,
}

/// A packet and its stream, which is the same for all receivers.
#[derive(Debug, Clone)]
struct Due {
    packet: SoundPacket,
    stream: Bytes,
}

/// Receives the packets of a [`SoundFanout`] from now on. One that is late misses the oldest.
#[derive(Debug)]
pub struct SoundReceiver(broadcast::Receiver<Due>);

impl Default for SoundFanout {
    fn default() -> Self {
        Self::new()
    }
}

impl SoundFanout {
    /// Makes a fan-out without subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self { all: broadcast::Sender::new(KEPT_PACKETS), next: Arc::default() }
    }

    /// Hands a packet of 20 ms to all subscribers: Opus at 48 kHz with the channels of
    /// [`SenderConfig::sound`](crate::SenderConfig::sound). `captured` is the capture time of its first sample, by
    /// [`clock_micros`](crate::clock_micros). Returns false, and hands on nothing, if the packet is empty or longer than
    /// [`MAX_SOUND_PACKET`].
    pub fn send(&self, captured: u64, bytes: Bytes) -> bool {
        if bytes.is_empty() || bytes.len() > MAX_SOUND_PACKET {
            return false;
        }
        let packet = SoundPacket { number: self.next.fetch_add(1, Ordering::Relaxed), captured, bytes };
        let stream = StreamHead::sound_stream(&packet);
        // It fails if nobody has subscribed.
        let _ = self.all.send(Due { packet, stream });
        true
    }

    /// Subscribes a consumer, which begins with the next packet.
    #[must_use]
    pub fn subscribe(&self) -> SoundReceiver {
        SoundReceiver(self.all.subscribe())
    }
}

impl SoundReceiver {
    /// Waits for the next packet; `None` if there will be no more. May be dropped while it waits.
    pub async fn next(&mut self) -> Option<SoundPacket> {
        self.due().await.map(|due| due.packet)
    }

    /// Waits for the stream of the next packet.
    pub(crate) async fn next_stream(&mut self) -> Option<Bytes> {
        self.due().await.map(|due| due.stream)
    }

    async fn due(&mut self) -> Option<Due> {
        loop {
            match self.0.recv().await {
                Ok(due) => return Some(due),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_is_late_misses_the_oldest_packets_and_numbers_rise() {
        let fanout = SoundFanout::new();
        assert!(fanout.send(0, Bytes::from_static(b"nobody is there")));
        let mut late = fanout.subscribe();
        for at in 0..2 * KEPT_PACKETS as u64 {
            assert!(fanout.clone().send(at, Bytes::from_static(b"packet")));
        }
        assert!(!fanout.send(0, Bytes::from(vec![0; MAX_SOUND_PACKET + 1])));
        drop(fanout);
        let mut numbers = Vec::new();
        while let Some(packet) = late.next().await {
            numbers.push(packet.number);
        }
        assert_eq!(numbers, (17..33).collect::<Vec<u64>>());
    }
}
