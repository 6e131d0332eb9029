//! Limits the bytes of the next frame by a receiver's cap and a policer. `docs/glossary.md` has a table of all rates.

use std::time::Duration;

use crate::publish::token_bucket::TokenBucket;
use crate::wire::limits::MAX_FRAME;
use nestcast_units::Bitrate;

/// The frames' part of bytes on the path, in permille; the rest is headers and acknowledgements.
const PAYLOAD_PERMILLE: u64 = 950;

/// The cap of a receiver's Hello limits the mean rate, by the bucket. A policer limits each frame, because it drops
/// larger bursts. A path without a policer is limited by its window: a frame is written as the window allows until the
/// next one is due, because an estimate instead of the window would always be somewhat wrong.
#[derive(Debug)]
pub(crate) struct Cap {
    /// `None` for a receiver without a cap.
    asked: Option<TokenBucket>,
    /// Bytes that a policer allows in one frame interval.
    policer_rate: u64,
    /// Bytes of sound since the last frame was due.
    sound: u64,
    interval: Duration,
}

impl Cap {
    /// Makes a limit for frames that are due every `interval`.
    pub(crate) fn new(interval: Duration, asked: Option<Bitrate>) -> Self {
        let asked = asked.map(|rate| TokenBucket::new(interval, rate.scaled(PAYLOAD_PERMILLE)));
        Self { asked, policer_rate: MAX_FRAME, sound: 0, interval }
    }

    /// Processes a frame that is due; `policer_rate` is the rate of the path's policer, if there is one.
    pub(crate) fn handle_frame(&mut self, now: Duration, policer_rate: Option<Bitrate>) {
        let sound = std::mem::take(&mut self.sound);
        self.policer_rate = policer_rate
            .map_or(MAX_FRAME, |rate| rate.scaled(PAYLOAD_PERMILLE).bytes_in(self.interval).saturating_sub(sound));
        if let Some(asked) = &mut self.asked {
            asked.handle_time(now);
        }
    }

    /// Counts `count` bytes that the transport accepted, including heads.
    pub(crate) fn handle_written(&mut self, count: usize) {
        if let Some(asked) = &mut self.asked {
            asked.take(count as u64);
        }
    }

    /// Counts `count` bytes of sound that are sent next to the frames.
    pub(crate) fn handle_sound(&mut self, count: usize) {
        self.sound += count as u64;
        self.handle_written(count);
    }

    /// Returns how many bytes of a frame begun now may be written, including its stream's head.
    pub(crate) fn bytes(&self) -> u64 {
        self.asked.as_ref().map_or(MAX_FRAME, TokenBucket::bytes).min(self.policer_rate)
    }

    /// Returns the most useful bytes of the next frame, if `count` bytes are written until then. One interval's bytes
    /// are always useful: a large base layer is no reason to make the next frame worse.
    pub(crate) fn useful_bytes(&self, count: u64) -> u64 {
        let asked = |asked: &TokenBucket| asked.next_bytes(count).max(asked.intervals(1));
        self.asked.as_ref().map_or(MAX_FRAME, asked).min(self.policer_rate)
    }
}
