//! How many bytes of a frame a receiver gets at most, and what its path delivers.
//!
//! The path itself is the budget's measure: a frame is written as the window takes it, until the next one is due. An
//! estimate in its place would be wrong by something: what is too much waits, what is too little is lost.

use std::collections::VecDeque;
use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::estimator::Path;
use crate::limits::MAX_FRAME;

/// Of 1000 bytes on the path so many are a frame's: the others are headers and acknowledgements.
const PAYLOAD: u64 = 950;
/// Frames over which deliveries are counted.
const MEMORY: usize = 8;

/// One receiver's budget.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// The most that a frame may have.
    cap: u64,
    /// When a frame was due, and what had been delivered by then; oldest first.
    delivered: VecDeque<(Duration, u64)>,
    rate: Bitrate,
}

impl Budget {
    pub(crate) fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        let cap = cap.map_or(MAX_FRAME, |cap| cap.scaled(PAYLOAD).bytes_in(interval));
        Self { cap, delivered: VecDeque::new(), rate: Bitrate::default() }
    }

    /// The most bytes of a frame.
    pub(crate) const fn cap(&self) -> u64 {
        self.cap
    }

    /// What was delivered over the last frames.
    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// A frame is due: counts what was delivered by now.
    pub(crate) fn measure(&mut self, now: Duration, path: &Path) {
        if let Some(&(then, delivered)) = self.delivered.front() {
            let rate = Bitrate::of(path.delivered.saturating_sub(delivered), now.saturating_sub(then));
            self.rate = rate.unwrap_or(self.rate);
        }
        self.delivered.push_back((now, path.delivered));
        if self.delivered.len() > MEMORY {
            self.delivered.pop_front();
        }
    }
}
