//! How many bytes of a frame anyone has use for: more need not be encoded.

use std::sync::atomic::{AtomicU64, Ordering};

/// The least that a frame is encoded to, for whoever joins.
const MIN_FRAME_BYTES: u64 = 16 * 1024;

/// What receivers asked for since it was taken last.
#[derive(Debug, Default)]
pub(crate) struct Demand(AtomicU64);

impl Demand {
    /// A receiver has use for so many bytes of the next frame.
    pub(crate) fn ask(&self, bytes: u64) {
        self.0.fetch_max(bytes, Ordering::Relaxed);
    }

    fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// The bytes that frames are encoded to: at once as many as are asked for, slowly fewer.
#[derive(Debug)]
pub(crate) struct Limit(u64);

impl Limit {
    pub(crate) const fn new() -> Self {
        Self(MIN_FRAME_BYTES)
    }

    /// For the frame that is encoded now.
    pub(crate) fn next(&mut self, demand: &Demand) -> usize {
        self.0 = demand.take().max(self.0 - self.0 / 8).max(MIN_FRAME_BYTES);
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_who_wants_most_and_falls_slowly() {
        let (demand, mut limit) = (Demand::default(), Limit::new());
        assert_eq!(limit.next(&demand), 16 * 1024);
        demand.ask(80_000);
        demand.ask(20_000);
        assert_eq!(limit.next(&demand), 80_000);
        assert_eq!(limit.next(&demand), 70_000);
        assert_eq!((0..20).map(|_| limit.next(&demand)).last(), Some(16 * 1024));
    }
}
