//! The stream that a publisher writes.

use bytes::Bytes;

use super::Step;

#[derive(Debug)]
pub(super) struct Sending {
    /// How it begins, until it did.
    pub(super) open: Option<Step>,
    /// The stream's head and the frame's bytes within the cap, as far as they are not written.
    pub(super) unwritten: [Bytes; 2],
    /// Bytes to write until the base is whole, of late bytes the head.
    pub(super) base_left: usize,
    pub(super) written: usize,
    pub(super) finish: bool,
    /// The frame, or the oldest one of which it has the base.
    pub(super) first: u64,
    pub(super) kind: Kind,
    /// The transport's number of the stream, and all that may be written to it.
    pub(super) stream: Option<u64>,
    pub(super) whole: [Bytes; 2],
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

impl Sending {
    /// A stream with these bytes, of which none are a base.
    pub(super) fn new(kind: Kind, unwritten: [Bytes; 2]) -> Self {
        let whole = unwritten.clone();
        Self { open: None, unwritten, base_left: 0, written: 0, finish: false, first: 0, kind, stream: None, whole }
    }

    /// What waits goes before the rest of it. Gives whether that cuts a frame.
    pub(super) fn cut(&mut self) -> bool {
        let cut = self.base_left == 0 && !self.finish;
        self.finish |= cut;
        cut && self.kind == Kind::Frame
    }
}
