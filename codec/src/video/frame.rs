//! One coded frame, and how it is put together.

use bytes::{Bytes, BytesMut};

use crate::video::allotment::Shares;
use crate::video::head::{Head, MAX_HEAD};

/// One coded frame: any prefix of its bytes is of use, from [`Frame::base`] bytes on all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Head, side information, and the string of the residual.
    pub bytes: Bytes,
    /// Bytes that every receiver needs of it, now or later, before any later frame: up to the end of the floor.
    pub base: usize,
    /// Bytes that the enhanced picture is made of: up to here each serves later frames too.
    pub enhanced: usize,
    /// Bytes of head and side information.
    pub side: usize,
    /// It is predicted from nothing, so that a receiver may begin here.
    pub key: bool,
}

impl Frame {
    /// Of bytes of which the string begins at `side`.
    pub(super) fn new(head: &Head, side: usize, bytes: Bytes) -> Self {
        let end = |count: usize| (side + count).min(bytes.len());
        Self { base: end(head.floor), enhanced: end(head.enhanced), side, key: head.key, bytes }
    }
}

/// Makes `out` a frame, and gives its head, with the lengths that `head` lacks, and the bytes before its string.
pub(super) fn compose(out: &mut BytesMut, mut head: Head, side: &[u8], string: &[u8], shares: Shares) -> (Head, usize) {
    out.reserve(MAX_HEAD + side.len() + string.len());
    head.side = side.len();
    // The head's length depends on both numbers, which depend on it: the second time it is no longer than the first.
    for _ in 0..2 {
        let over = out.len() + side.len();
        head.enhanced = shares.enhanced.saturating_sub(over).min(string.len());
        head.floor = shares.floor.saturating_sub(over).min(head.enhanced);
        out.clear();
        head.write(out);
    }
    out.extend_from_slice(side);
    let start = out.len();
    out.extend_from_slice(string);
    out.truncate(shares.most.max(start));
    (head, start)
}

/// A frame that is floor alone, of at most `max_bytes` behind its side information: receivers go on from its floor.
pub(super) fn floor_alone(out: &mut BytesMut, head: Head, side: &[u8], string: &[u8], max_bytes: usize) -> Frame {
    let shares = Shares { floor: max_bytes, enhanced: max_bytes, most: max_bytes };
    let (head, side) = compose(out, head, side, string, shares);
    // A head that became shorter than it was thought to be leaves room for a byte that the floor has not.
    out.truncate(side + head.floor);
    Frame::new(&head, side, out.split().freeze())
}
