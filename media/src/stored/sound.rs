//! Sound in a stored video.

use bytes::Bytes;
use nestcast_codec::SoundRecord;

/// The most bytes of a packet: the body before it has its channels and its time.
const MAX_PACKET_BYTES: usize = SoundRecord::MAX_BYTES - 1 - size_of::<u64>();

/// A packet of sound of 20 ms: Opus at 48 kHz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSound {
    /// The capture time of its first sample, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// The packet.
    pub bytes: Bytes,
}

impl StoredSound {
    /// Returns whether a reader takes a packet of this length.
    pub(crate) fn can_be_stored(&self) -> bool {
        (1..=MAX_PACKET_BYTES).contains(&self.bytes.len())
    }
}
