//! The most bytes of the next frame that a receiver's cap and a policer let through. `docs/glossary.md` has a table of all rates.

use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::publish::token_bucket::TokenBucket;
use crate::wire::limits::MAX_FRAME;

/// Of 1000 bytes on the path, 950 are a frame's: the others are headers and acknowledgements.
const PAYLOAD_PERMILLE: u64 = 950;

/// The cap of a receiver's Hello holds over time, as the bucket has it. What a policer lets through holds for each frame: it drops a
/// burst of more. Another path's own limit is its window: a frame is written as that takes it, until the next one is due,
/// since an estimate in its place would be wrong by something.
#[derive(Debug)]
pub(crate) struct Cap {
    /// None for a receiver without a cap.
    asked: Option<TokenBucket>,
    /// Bytes that a policer lets through in one frame interval.
    policed: u64,
    interval: Duration,
}

impl Cap {
    /// For frames that are due every `interval`.
    pub(crate) fn new(interval: Duration, asked: Option<Bitrate>) -> Self {
        let asked = asked.map(|rate| TokenBucket::new(interval, rate.scaled(PAYLOAD_PERMILLE)));
        Self { asked, policed: MAX_FRAME, interval }
    }

    /// A frame is due, on a path whose policer, if there is one, lets `policed` through.
    pub(crate) fn handle_frame(&mut self, now: Duration, policed: Option<Bitrate>) {
        self.policed = policed.map_or(MAX_FRAME, |rate| rate.scaled(PAYLOAD_PERMILLE).bytes_in(self.interval));
        if let Some(asked) = &mut self.asked {
            asked.handle_time(now);
        }
    }

    /// The transport took `count` bytes, heads among them.
    pub(crate) fn handle_written(&mut self, count: usize) {
        if let Some(asked) = &mut self.asked {
            asked.take(count as u64);
        }
    }

    /// Bytes that may be written of a frame that is begun now, the head of its stream among them.
    pub(crate) fn bytes(&self) -> u64 {
        self.asked.as_ref().map_or(MAX_FRAME, TokenBucket::bytes).min(self.policed)
    }

    /// The most useful bytes of the next frame, if `count` are written until then. One interval's are useful in any case: a base that
    /// took much is no reason to make the next frame worse.
    pub(crate) fn useful_bytes(&self, count: u64) -> u64 {
        let asked = |asked: &TokenBucket| asked.next_bytes(count).max(asked.intervals(1));
        self.asked.as_ref().map_or(MAX_FRAME, asked).min(self.policed)
    }
}
