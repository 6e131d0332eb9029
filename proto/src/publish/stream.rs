//! The stream that a publisher writes.

use bytes::{Buf as _, Bytes};

use crate::publish::cut::Extent;
use crate::publish::step::Step;

/// A stream that is being written: its head, and the bytes of a frame within the receiver's cap.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) kind: Kind,
    /// The frame, or the oldest frame whose base layer it has.
    pub(super) first: u64,
    /// The step that opens it, until it is done.
    pub(super) open: Option<Step>,
    /// The transport's number of the stream.
    pub(super) number: Option<u64>,
    /// Head and body: everything that may be written to it, and the unwritten part.
    pub(super) whole: [Bytes; 2],
    pub(super) unwritten: [Bytes; 2],
    /// Bytes to write until the head is complete, and in a frame's stream the base layer too.
    pub(super) base_left: usize,
    /// Bytes of the frame that were written; for late bytes, those since the last frame was due.
    pub(super) written: usize,
    /// Whether its end is decided.
    pub(super) finish: bool,
    /// Size in bytes of the full frame, and of its base layer.
    pub(super) full: usize,
    pub(super) base: usize,
}

/// What a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Frame,
    /// More of a picture that stays.
    Late,
    /// Base layers of earlier frames.
    BaseRetransmission,
    /// Parity of the frame's stream.
    Parity,
}

/// The bytes of one write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Bytes of its head and of its body.
    pub(super) head: usize,
    pub(super) body: usize,
    /// Whether this write completed the base layer.
    pub(super) ends_base: bool,
}

impl Stream {
    /// Makes a stream that begins with `open`. All of its head must be written; the caller sets `base_left` if more
    /// must be.
    pub(super) fn new(kind: Kind, first: u64, open: Step, parts: [Bytes; 2]) -> Self {
        let [head, body] = &parts;
        Self {
            kind,
            first,
            open: Some(open),
            number: None,
            base_left: head.len(),
            written: 0,
            finish: false,
            full: body.len(),
            base: 0,
            whole: parts.clone(),
            unwritten: parts,
        }
    }

    /// Returns how far it is written.
    pub(super) fn extent(&self) -> Extent {
        let allowed = self.whole[1].len();
        let written = allowed - self.unwritten[1].len();
        Extent { full: self.full, base: self.base, allowed, written, has_base: self.owes_nothing() }
    }

    /// Returns whether head and base layer are written.
    pub(super) const fn owes_nothing(&self) -> bool {
        self.base_left == 0
    }

    /// Returns the unwritten bytes of its head and its base layer.
    pub(super) fn unwritten_base(&self) -> [Bytes; 2] {
        let [head, body] = self.unwritten.clone();
        let base = self.base_left.saturating_sub(head.len()).min(body.len());
        [head, body.slice(..base)]
    }

    /// Returns the number of unwritten bytes.
    pub(super) fn unwritten_bytes(&self) -> usize {
        self.unwritten.iter().map(Bytes::len).sum()
    }

    /// Returns the number of written bytes, including its head's.
    pub(super) fn written_bytes(&self) -> usize {
        let whole: usize = self.whole.iter().map(Bytes::len).sum();
        whole - self.unwritten_bytes()
    }

    /// Advances past `count` bytes that the transport accepted.
    pub(super) fn handle_written(&mut self, count: usize) -> Taken {
        let head = count.min(self.unwritten[0].len());
        let body = (count - head).min(self.unwritten[1].len());
        self.unwritten[0].advance(head);
        self.unwritten[1].advance(body);
        let ends_base = self.base_left > 0 && head + body >= self.base_left;
        self.base_left = self.base_left.saturating_sub(head + body);
        self.written += body;
        Taken { head, body, ends_base }
    }

    /// Drops the unwritten part of its body.
    pub(super) fn leave_rest(&mut self) {
        self.unwritten[1] = Bytes::new();
    }
}
