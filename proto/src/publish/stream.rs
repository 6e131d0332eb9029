//! The stream that a publisher writes.

use bytes::{Buf as _, Bytes};

use crate::publish::cut::Extent;
use crate::publish::step::Step;

/// A stream that is being written: its head, and the bytes of a frame within the receiver's cap.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) kind: Kind,
    /// The frame, or the oldest one of which it has the base.
    pub(super) first: u64,
    /// How it begins, until it did.
    pub(super) open: Option<Step>,
    /// The transport's number of it.
    pub(super) number: Option<u64>,
    /// Head and body: all that may be written to it, and what of that is not written yet.
    pub(super) whole: [Bytes; 2],
    pub(super) unwritten: [Bytes; 2],
    /// Bytes to write until head and base are whole; of late bytes the head is.
    pub(super) base_left: usize,
    /// Bytes of the frame that were written; of late bytes, those since the last frame was due.
    pub(super) written: usize,
    /// Where it ends was decided.
    pub(super) finish: bool,
    /// Bytes of the frame in full, and of its base.
    pub(super) full: usize,
    pub(super) base: usize,
}

/// What a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Frame,
    /// More of a picture that stays.
    Late,
    /// Bases of earlier frames.
    Again,
    /// Parity of the frame's stream.
    Parity,
}

/// What a write took of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Bytes of its head and of its body.
    pub(super) head: usize,
    pub(super) body: usize,
    /// Whether the base is whole since.
    pub(super) ends_base: bool,
}

impl Stream {
    /// A stream that begins with `open`. All of its head must be written; the caller sets `base_left` where more must be.
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

    /// How far it is written.
    pub(super) fn extent(&self) -> Extent {
        let allowed = self.whole[1].len();
        let written = allowed - self.unwritten[1].len();
        Extent { full: self.full, base: self.base, allowed, written, has_base: self.owes_nothing() }
    }

    /// Whether head and base are written.
    pub(super) const fn owes_nothing(&self) -> bool {
        self.base_left == 0
    }

    /// What is not written yet of its head and its base.
    pub(super) fn unwritten_base(&self) -> [Bytes; 2] {
        let [head, body] = self.unwritten.clone();
        let base = self.base_left.saturating_sub(head.len()).min(body.len());
        [head, body.slice(..base)]
    }

    /// Bytes that are not written yet.
    pub(super) fn unwritten_bytes(&self) -> usize {
        self.unwritten.iter().map(Bytes::len).sum()
    }

    /// Bytes that are written, its head's among them.
    pub(super) fn written_bytes(&self) -> usize {
        let whole: usize = self.whole.iter().map(Bytes::len).sum();
        whole - self.unwritten_bytes()
    }

    /// The transport took `count` bytes of what is not written.
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

    /// What is not written of its body is left out.
    pub(super) fn leave_rest(&mut self) {
        self.unwritten[1] = Bytes::new();
    }
}
