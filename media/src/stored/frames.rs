//! A range of a stored video's frames, as far as they are there and sound.

use std::io::{self, Read, Seek};
use std::ops::Range;

use bytes::Bytes;
use nestcast_codec::{Budget, FrameHead, RecordHead};

use super::{Error, Reader};

/// The frames of a range, one after another. A record that is none ends them, a frame that breaks the specification does not;
/// [`Frames::fault`] tells what was the matter.
#[derive(Debug)]
pub struct Frames<R> {
    reader: Reader<R>,
    range: Range<u64>,
    fault: Option<String>,
}

/// A frame, or a prefix of one.
#[derive(Debug, Clone)]
pub struct StoredFrame {
    /// From 0.
    pub number: u64,
    /// What there is of it.
    pub bytes: Bytes,
    /// What it says of itself; nothing if it ends in it, or breaks the specification.
    pub head: Option<FrameHead>,
}

impl StoredFrame {
    /// How many of its bytes a receiver gets, of records in a row: all of one that was cut before its base.
    pub fn allowed(&self, budget: &mut Budget) -> usize {
        let length = self.bytes.len();
        budget.cut(&self.bytes, RecordHead::bytes_of_frame(length)).map_or(length, |count| count.min(length))
    }
}

impl<R> Frames<R> {
    /// Those of `range`, counted from 0; all are `0..u64::MAX`.
    #[must_use]
    pub const fn new(reader: Reader<R>, range: Range<u64>) -> Self {
        Self { reader, range, fault: None }
    }

    /// What reads them.
    #[must_use]
    pub const fn reader(&self) -> &Reader<R> {
        &self.reader
    }

    /// The frames that are asked for.
    #[must_use]
    pub const fn range(&self) -> &Range<u64> {
        &self.range
    }

    /// What was the matter first, with the video or with what was decoded of it.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Keeps what is the matter; the first counts.
    pub(super) fn blame(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

impl<R: Read> Frames<R> {
    /// Gives the frames of the loop that serves this rate best, in bits a second.
    pub fn choose(&mut self, bits_per_second: f64) {
        self.reader.choose(bits_per_second);
    }

    /// The next frame; nothing behind the last of the range, and where what comes is no record. Frames before the range come first,
    /// as far as those in it are predicted from them.
    ///
    /// # Errors
    /// Those of the system.
    #[expect(
        clippy::should_implement_trait,
        reason = "as in an iterator of results, which cannot be asked for its fault"
    )]
    pub fn next(&mut self) -> io::Result<Option<StoredFrame>> {
        let number = self.reader.next_number();
        if number >= self.range.end {
            return Ok(None);
        }
        let Some(bytes) = self.next_bytes()? else { return Ok(None) };
        let head = FrameHead::parse(&bytes).unwrap_or_else(|error| {
            self.blame(format!("frame {number}: {error}"));
            None
        });
        Ok(Some(StoredFrame { number, bytes, head }))
    }

    fn next_bytes(&mut self) -> io::Result<Option<Bytes>> {
        match self.reader.next_frame() {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            Ok(None) if self.reader.is_whole() => {}
            Ok(None) => self.blame("it breaks off".to_owned()),
            Err(Error::Io(error)) => return Err(error),
            Err(error) => self.blame(error.to_string()),
        }
        Ok(None)
    }
}

impl<R: Read + Seek> Frames<R> {
    /// Goes to the last frame from which the first of the range can be decoded, where the input can seek.
    ///
    /// # Errors
    /// Those of the system.
    pub fn seek(&mut self) -> Result<(), Error> {
        self.reader.seek(self.range.start)
    }

    /// How many frames of the range there are, if the range says so, or an index that [`Frames::seek`] has found.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let end = self.reader.count().map_or(self.range.end, |count| count.min(self.range.end));
        (end != u64::MAX).then(|| end.saturating_sub(self.range.start))
    }
}
