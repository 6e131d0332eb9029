//! Reads a range of a stored video's frames, up to the first missing or damaged record.

use std::io::{self, Read, Seek};
use std::ops::Range;

use bytes::Bytes;
use nestcast_codec::{Bitrate, Budget, FrameHead, RecordHead};

use super::{Error, Reader, StoredSound};

/// Returns the frames of a range one after another. An invalid record ends them; an invalid frame does not.
/// [`Frames::fault`] has the first fault.
#[derive(Debug)]
pub struct Frames<R> {
    reader: Reader<R>,
    range: Range<u64>,
    fault: Option<String>,
}

/// A frame, or a prefix of one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFrame {
    /// From 0.
    pub number: u64,
    /// Its bytes, as far as the file has them.
    pub bytes: Bytes,
    /// When it was captured, in microseconds since 1970-01-01 UTC, if the file says so.
    pub captured: Option<u64>,
    /// Its head; `None` if the frame ends inside its head, or breaks the specification.
    pub head: Option<FrameHead>,
}

impl StoredFrame {
    /// Returns how many of its bytes a receiver gets, if the records follow one another: all of a frame that was cut
    /// inside its base.
    pub fn allowed(&self, budget: &mut Budget) -> usize {
        let length = self.bytes.len();
        budget.cut(&self.bytes, RecordHead::bytes_of_frame(length)).map_or(length, |count| count.min(length))
    }
}

impl<R> Frames<R> {
    /// Takes the frames of `range`, counted from 0; `0..u64::MAX` are all.
    #[must_use]
    pub const fn new(reader: Reader<R>, range: Range<u64>) -> Self {
        Self { reader, range, fault: None }
    }

    /// Returns the reader.
    #[must_use]
    pub const fn reader(&self) -> &Reader<R> {
        &self.reader
    }

    /// Returns the range.
    #[must_use]
    pub const fn range(&self) -> &Range<u64> {
        &self.range
    }

    /// Returns the first fault of the video or of its decoded frames.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Keeps a fault if it is the first.
    pub(super) fn blame(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

impl<R: Read> Frames<R> {
    /// Chooses the loop that fits a rate in bits a second best.
    pub fn choose(&mut self, bitrate: Bitrate) {
        self.reader.choose(bitrate);
    }

    /// Reads up to the first frame, and keeps packets of sound from now on, as [`Reader::begin_sound`] does.
    ///
    /// # Errors
    /// The system's.
    pub fn begin_sound(&mut self) -> io::Result<Option<usize>> {
        match self.reader.begin_sound() {
            Err(Error::Io(error)) => Err(error),
            Err(error) => {
                self.blame(error.to_string());
                Ok(None)
            }
            Ok(channels) => Ok(channels),
        }
    }

    /// Returns the packets of sound that lie before the last frame, as [`Reader::take_sound`] does.
    pub fn take_sound(&mut self) -> impl Iterator<Item = StoredSound> + use<R> {
        self.reader.take_sound()
    }

    /// Keeps random-access frames from now on, as [`Reader::keep_random_access`] does.
    pub const fn keep_random_access(&mut self) {
        self.reader.keep_random_access();
    }

    /// Returns the random-access frame that can stand for the last frame, as [`Reader::take_random_access`] does.
    pub const fn take_random_access(&mut self) -> Option<Bytes> {
        self.reader.take_random_access()
    }

    /// Returns the next frame; `None` after the last frame of the range, and at an invalid record. Returns frames
    /// before the range first, from the frame on with which [`Frames::seek`] or [`Frames::seek_near`] begins.
    ///
    /// # Errors
    /// The system's.
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
        Ok(Some(StoredFrame { number, bytes, captured: self.reader.captured(), head }))
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
    /// Goes forward to the last key frame at or before the range, from which its pictures are exact, as
    /// [`Reader::seek`] does.
    ///
    /// # Errors
    /// The system's.
    pub fn seek(&mut self) -> Result<(), Error> {
        self.reader.seek(self.range.start)
    }

    /// Goes, forward or back, to the last frame with which a decoder of frame `frame` can begin, as
    /// [`Reader::seek_near`] does. The range begins with frame `frame` from now on.
    ///
    /// # Errors
    /// The system's, also if the input cannot seek.
    pub fn seek_near(&mut self, frame: u64) -> Result<(), Error> {
        self.reader.seek_near(frame)?;
        self.range.start = frame;
        Ok(())
    }

    /// Returns how many frames the range has, if the range says that, or an index that [`Frames::seek`] found.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let end = self.reader.count().map_or(self.range.end, |count| count.min(self.range.end));
        (end != u64::MAX).then(|| end.saturating_sub(self.range.start))
    }
}
