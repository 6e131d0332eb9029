//! The most bytes of a frame that a receiver asked for.

use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::limits::MAX_FRAME;

/// Of 1000 bytes on the path so many are a frame's: the others are headers and acknowledgements.
const PAYLOAD_PERMILLE: u64 = 950;

/// The cap of a receiver's Hello or of a policer, for one frame. Another path's own limit is its window: a frame is written as
/// that takes it, until the next one is due, since an estimate in its place would be wrong by something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameCap(u64);

impl FrameCap {
    /// For frames that are due every `interval`.
    pub(crate) fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        Self(cap.map_or(MAX_FRAME, |cap| cap.scaled(PAYLOAD_PERMILLE).bytes_in(interval)))
    }

    /// In bytes, the head of the frame's stream among them.
    pub(crate) const fn bytes(self) -> u64 {
        self.0
    }
}
