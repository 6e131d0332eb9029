//! The recent delivery rate of a path. `docs/glossary.md` has a table of all rates.

use std::collections::VecDeque;
use std::time::Duration;

use nestcast_units::Bitrate;

/// Frames over which deliveries are counted.
const MEASURED_FRAMES: usize = 8;

/// The delivery rate of the last frames (draft-cardwell-iccrg-bbr-congestion-control, section 4.1.1), with all headers.
/// If frames are smaller than the path allows, this is the frames' rate, not the path's.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryRate {
    /// When a frame was due, and the bytes delivered by then; oldest first.
    delivered: VecDeque<(Duration, u64)>,
    rate: Bitrate,
}

impl DeliveryRate {
    /// Returns the rate as of the last frame that was due; zero before the second.
    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// Records a frame that is due; `delivered` bytes arrived since the connection began.
    pub(crate) fn handle_frame(&mut self, now: Duration, delivered: u64) {
        if let Some(&(then, before)) = self.delivered.front() {
            let rate = Bitrate::of(delivered.saturating_sub(before), now.saturating_sub(then));
            self.rate = rate.unwrap_or(self.rate);
        }
        if self.delivered.len() == MEASURED_FRAMES {
            self.delivered.pop_front();
        }
        self.delivered.push_back((now, delivered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_frames() {
        let mut rate = DeliveryRate::default();
        assert_eq!(rate.rate(), Bitrate::default());
        let mut delivered = 0;
        for (frame, bytes) in (0..).zip([1000; 10].into_iter().chain([3000; 9])) {
            rate.handle_frame(Duration::from_millis(100 * frame), delivered);
            delivered += bytes;
        }
        // In each of the eight measured intervals 3000 bytes were delivered.
        assert_eq!(rate.rate(), Bitrate::from_bits(240_000));
    }
}
