//! What receivers tell a source: how many bytes of a frame anyone has use for, and how each of them is served.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::statistics::{Counters, Statistics};

/// The fewest bytes that a frame is made of, for whoever joins: half a second of 256 kbit/s.
const MIN_FRAME_BYTES: u64 = 16 * 1024;

/// A source's view of its receivers. Copies are views of the same receivers.
#[derive(Debug, Clone, Default)]
pub struct Feedback {
    demand: Arc<Demand>,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Demand {
    /// The most that a receiver asked for since it was read last.
    asked: AtomicU64,
    /// What was read last.
    last: AtomicU64,
    /// Loops in which a receiver asked for a join since it was read last; none is that of who is in no loop.
    joins: Mutex<BTreeSet<Option<u64>>>,
}

impl Feedback {
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        Self { demand: Arc::default(), counters }
    }

    /// Bytes of the next frame that the receiver with the best path has use for: more need not be made. At once as many
    /// as are asked for, slowly fewer: to be taken once for each frame.
    #[must_use]
    pub fn take_useful_bytes(&self) -> u64 {
        let last = self.demand.last.load(Ordering::Relaxed);
        let bytes = self.demand.asked.swap(0, Ordering::Relaxed).max(last - last / 8).max(MIN_FRAME_BYTES);
        self.demand.last.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Whether a receiver of video can go on only with a [`Join`](nestcast_proto::Join): it is new, or was too slow for too
    /// long. It is asked no more once that was taken.
    #[must_use]
    pub fn take_join_request(&self) -> bool {
        !self.take_join_requests().is_empty()
    }

    /// The same by the numbers of [loops](nestcast_proto::LoopFrame); none is that of receivers that are in no loop.
    pub(crate) fn take_join_requests(&self) -> BTreeSet<Option<u64>> {
        std::mem::take(&mut self.demand.joins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The broadcast's figures of now, each receiver's as of the last frame among them.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.read()
    }

    /// Making a frame took this long; it is told in [`Statistics::encode_time`].
    pub fn handle_encoded(&self, took: Duration) {
        Counters::add(&self.counters.encode_nanos, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// A receiver in this loop, if in any, can go on only with a join.
    pub(crate) fn ask_join(&self, in_loop: Option<u64>) {
        self.demand.joins.lock().unwrap_or_else(PoisonError::into_inner).insert(in_loop);
    }

    /// A receiver has use for so many bytes of the next frame.
    pub(crate) fn ask(&self, bytes: u64) {
        self.demand.asked.fetch_max(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn useful_bytes_are_those_of_who_wants_most_and_fall_slowly() {
        let feedback = Feedback::default();
        assert_eq!(feedback.take_useful_bytes(), 16 * 1024);
        feedback.ask(80_000);
        feedback.ask(20_000);
        assert_eq!(feedback.take_useful_bytes(), 80_000);
        assert_eq!(feedback.take_useful_bytes(), 70_000);
        assert_eq!((0..20).map(|_| feedback.take_useful_bytes()).min(), Some(16 * 1024));
    }
}
