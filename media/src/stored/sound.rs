//! Sound in a stored video.

use bytes::Bytes;

/// A packet of sound of 20 ms: Opus at 48 kHz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSound {
    /// The capture time of its first sample, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// The packet.
    pub bytes: Bytes,
}
