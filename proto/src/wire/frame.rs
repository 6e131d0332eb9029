//! A frame and the header of its stream (spec, "Frames").

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::limits::MAX_FRAME;
use crate::wire::varint::{Reader, put_varint};

/// One encoded frame: any prefix of `bytes` is worth something. All receivers share its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The number of its picture in the source.
    pub id: u64,
    /// Pictures before this one that do not come, of all so far.
    pub skipped: u64,
    /// When it was captured, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// Of pictures: the number of the first frame of a run whose picture does not change; `id` if it differs from the one
    /// before, and of video. All of a run have bytes of one stream, later ones as many as those before or more.
    pub since: u64,
    /// How many of the first bytes belong to the base: it is sent first and never cut.
    pub base: usize,
    /// All of it.
    pub bytes: Bytes,
    /// Of video: what a receiver that lacks the frames before gets in its place, if that was made.
    pub join: Option<Join>,
}

/// A frame that is predicted from nothing and stands in the place of one that is not: who has it can decode the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// See [`Frame::base`].
    pub base: usize,
    /// See [`Frame::bytes`].
    pub bytes: Bytes,
}

impl Frame {
    /// The frame for a receiver that does not get `dropped` earlier frames either; `joins`: in the form that it may begin with,
    /// `None` if that was not made.
    pub(crate) fn for_receiver(&self, dropped: u64, joins: bool) -> Option<Self> {
        let mut frame = Self { skipped: (self.skipped + dropped).min(self.id), join: None, ..self.clone() };
        if joins {
            Join { base: frame.base, bytes: frame.bytes } = self.join.clone()?;
        }
        Some(frame)
    }

    /// What goes before the frame's bytes.
    #[must_use]
    pub fn header(&self) -> FrameHeader {
        let full = self.bytes.len() as u64;
        let Self { id, skipped, captured, .. } = *self;
        FrameHeader { id, skipped, captured, full, base: (self.base as u64).min(full) }
    }
}

/// What goes before a frame's bytes on its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// See [`Frame::id`].
    pub id: u64,
    /// See [`Frame::skipped`].
    pub skipped: u64,
    /// See [`Frame::captured`].
    pub captured: u64,
    /// How many bytes the whole frame has.
    pub full: u64,
    /// How many of these belong to the base.
    pub base: u64,
}

impl FrameHeader {
    pub(crate) fn write(&self, out: &mut BytesMut) {
        for number in [self.id, self.skipped, self.captured, self.full, self.base] {
            put_varint(out, number);
        }
    }

    /// `None` while the bytes end inside the header.
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
