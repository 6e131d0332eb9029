//! A frame and the header of its stream (spec, "Frames").

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::limits::MAX_FRAME;
use crate::wire::varint::{Reader, put_varint};

/// One encoded frame: any prefix of `bytes` is useful. All receivers share its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The number of its picture in the source. It rises from frame to frame.
    pub id: u64,
    /// The number of earlier pictures that are not sent, of all so far: at most `id`.
    pub skipped: u64,
    /// The capture time, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// For pictures: the number of the first frame of a run whose picture stays the same; `id` if the picture differs
    /// from the one before, and for video. All frames of a run are prefixes of one stream, each at least as long as the
    /// one before.
    pub since: u64,
    /// The number of leading bytes in the base layer, which is sent first and never cut.
    pub base: usize,
    /// All bytes of the frame: at least one, and at most [`MAX_FRAME`].
    pub bytes: Bytes,
    /// For video: the random-access frame for a receiver that lacks the earlier frames, if the encoder made one.
    pub join: Option<RandomAccessFrame>,
}

/// A random-access frame: predicted from nothing, it replaces a frame that is not. A receiver that has it can decode
/// the next frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomAccessFrame {
    /// See [`Frame::base`].
    pub base: usize,
    /// See [`Frame::bytes`].
    pub bytes: Bytes,
}

impl Frame {
    /// Returns the frame for a receiver that also misses `dropped` earlier frames. With `joins` it is the random-access
    /// form; `None` if the encoder made none.
    pub(crate) fn for_receiver(&self, dropped: u64, joins: bool) -> Option<Self> {
        let mut frame = Self { skipped: (self.skipped + dropped).min(self.id), join: None, ..self.clone() };
        if joins {
            RandomAccessFrame { base: frame.base, bytes: frame.bytes } = self.join.clone()?;
        }
        Some(frame)
    }

    /// Returns the header that precedes the frame's bytes.
    #[must_use]
    pub fn header(&self) -> FrameHeader {
        let full = self.bytes.len() as u64;
        let Self { id, skipped, captured, .. } = *self;
        FrameHeader { id, skipped, captured, full, base: (self.base as u64).min(full) }
    }
}

/// The header of a frame, which precedes its bytes on the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// See [`Frame::id`].
    pub id: u64,
    /// See [`Frame::skipped`].
    pub skipped: u64,
    /// See [`Frame::captured`].
    pub captured: u64,
    /// The size of the whole frame in bytes.
    pub full: u64,
    /// The size of its base layer in bytes.
    pub base: u64,
}

impl FrameHeader {
    pub(crate) fn write(&self, out: &mut BytesMut) {
        for number in [self.id, self.skipped, self.captured, self.full, self.base] {
            put_varint(out, number);
        }
    }

    /// Reads a header; `None` while it is incomplete.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        let mut number = || reader.varint();
        let (Some(id), Some(skipped), Some(captured)) = (number(), number(), number()) else { return Ok(None) };
        let (Some(full), Some(base)) = (number(), number()) else { return Ok(None) };
        if skipped > id {
            return Err(Close::violation("more pictures are skipped than there were"));
        }
        if full > MAX_FRAME {
            return Err(Close::violation("a frame is announced that is too long"));
        }
        if base > full {
            return Err(Close::violation("a frame's base is longer than the frame"));
        }
        Ok(Some(Self { id, skipped, captured, full, base }))
    }
}
