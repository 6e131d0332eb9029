//! Streams that were finished, and whether what they carried arrived.

use crate::wire::limits::MAX_OPEN_FRAMES;

/// Streams that are kept until what they carried arrived: those of as many frames as may come again, each with its parity's.
const MAX_FINISHED: usize = 2 * MAX_OPEN_FRAMES;

/// The newest last.
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
    /// A stream was finished. Returns the oldest if they are too many.
    pub(super) fn push(&mut self, frame: u64, number: u64) -> Option<u64> {
        let oldest = (self.0.len() == MAX_FINISHED).then(|| self.0.remove(0));
        self.0.push(Stream { frame, number, is_settled: false });
        oldest.map(|stream| stream.number)
    }

    /// Those that are not known to have arrived, the oldest first.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter(|stream| !stream.is_settled).map(|stream| stream.number)
    }

    /// The newest, if it is not known to have arrived.
    pub(super) fn newest_unsettled(&self) -> Option<u64> {
        self.0.last().filter(|stream| !stream.is_settled).map(|stream| stream.number)
    }

    /// A stream arrived. Returns whether it is the oldest.
    pub(super) fn settle(&mut self, number: u64) -> bool {
        for stream in self.0.iter_mut().filter(|stream| stream.number == number) {
            stream.is_settled = true;
        }
        self.0.first().is_none_or(|stream| stream.is_settled)
    }

    /// Takes the oldest, if it arrived: its frame and number.
    pub(super) fn pop_settled(&mut self) -> Option<(u64, u64)> {
        self.0.first().filter(|stream| stream.is_settled)?;
        let stream = self.0.remove(0);
        Some((stream.frame, stream.number))
    }

    /// Takes those of frames from `first` on.
    pub(super) fn take_from(&mut self, first: u64) -> impl Iterator<Item = u64> + use<'_> {
        self.0.extract_if(.., move |stream| stream.frame >= first).map(|stream| stream.number)
    }
}
