//! Finished streams, and whether their data arrived.

use crate::wire::limits::MAX_OPEN_FRAMES;

/// The most finished streams tracked: those of as many frames as may be sent again, each with its parity's.
const MAX_FINISHED: usize = 2 * MAX_OPEN_FRAMES;

/// The streams, oldest first.
#[derive(Debug, Default)]
pub(super) struct Finished(Vec<Stream>);

#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The oldest frame on it.
    frame: u64,
    number: u64,
    is_settled: bool,
}

impl Finished {
    /// Adds a finished stream. Returns the oldest if there are too many.
    pub(super) fn push(&mut self, frame: u64, number: u64) -> Option<u64> {
        let oldest = (self.0.len() == MAX_FINISHED).then(|| self.0.remove(0));
        self.0.push(Stream { frame, number, is_settled: false });
        oldest.map(|stream| stream.number)
    }

    /// Returns the streams not known to have arrived, oldest first.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter(|stream| !stream.is_settled).map(|stream| stream.number)
    }

    /// Returns the newest stream, if it is not known to have arrived.
    pub(super) fn newest_unsettled(&self) -> Option<u64> {
        self.0.last().filter(|stream| !stream.is_settled).map(|stream| stream.number)
    }

    /// Marks a stream as arrived. Returns whether the oldest stream has arrived.
    pub(super) fn settle(&mut self, number: u64) -> bool {
        for stream in self.0.iter_mut().filter(|stream| stream.number == number) {
            stream.is_settled = true;
        }
        self.0.first().is_none_or(|stream| stream.is_settled)
    }

    /// Removes the oldest stream, if it arrived; returns its frame and number.
    pub(super) fn pop_settled(&mut self) -> Option<(u64, u64)> {
        self.0.first().filter(|stream| stream.is_settled)?;
        let stream = self.0.remove(0);
        Some((stream.frame, stream.number))
    }

    /// Removes the streams of frames from `first` on.
    pub(super) fn take_from(&mut self, first: u64) -> impl Iterator<Item = u64> + use<'_> {
        self.0.extract_if(.., move |stream| stream.frame >= first).map(|stream| stream.number)
    }
}
