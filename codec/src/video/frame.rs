//! One coded frame, and its layout.

use bytes::{Bytes, BytesMut};

use crate::video::head::{Head, MAX_HEAD};
use crate::video::rate_allocation::Shares;

/// One coded frame. Any prefix of its bytes is useful; from [`CodedFrame::base`] bytes on, every byte is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedFrame {
    /// Head, side information, and the bitstream of the residual.
    pub bytes: Bytes,
    /// Bytes of it that every receiver needs before any later frame: up to the end of the base layer.
    pub base: usize,
    /// Bytes of the enhancement reference: each byte up to here serves later frames too.
    pub enhancement_reference: usize,
    /// Bytes of head and side information.
    pub side: usize,
    /// Whether it is predicted from nothing, so that a receiver can begin here.
    pub key: bool,
    /// Whether its picture is the one before, so that it took less time than others.
    pub stays: bool,
}

impl CodedFrame {
    /// Makes it from bytes whose bitstream begins at `side`.
    pub(super) fn new(head: &Head, side: usize, bytes: Bytes) -> Self {
        let end = |count: usize| (side + count).min(bytes.len());
        Self {
            base: end(head.base_reference),
            enhancement_reference: end(head.enhancement_reference),
            side,
            key: head.key,
            stays: head.stays,
            bytes,
        }
    }
}

/// Writes a frame into `out`; returns its head, with the lengths that `head` lacks, and the bytes before its bitstream.
pub(super) fn compose(out: &mut BytesMut, mut head: Head, side: &[u8], string: &[u8], shares: Shares) -> (Head, usize) {
    out.reserve(MAX_HEAD + side.len() + string.len());
    head.side = side.len();
    // The head's length and the two numbers depend on each other: in the second round it is at most as long as in the
    // first.
    for _ in 0..2 {
        let over = out.len() + side.len();
        head.enhancement_reference = shares.enhancement_reference.saturating_sub(over).min(string.len());
        head.base_reference = shares.base_reference.saturating_sub(over).min(head.enhancement_reference);
        out.clear();
        head.write(out);
    }
    out.extend_from_slice(side);
    let start = out.len();
    out.extend_from_slice(string);
    out.truncate(shares.most.max(start));
    (head, start)
}

/// Returns a frame with a base layer alone, of at most `max_bytes` after its side information, as a random-access
/// point.
pub(super) fn base_reference_alone(
    out: &mut BytesMut,
    head: Head,
    side: &[u8],
    string: &[u8],
    max_bytes: usize,
) -> CodedFrame {
    let shares = Shares { base_reference: max_bytes, enhancement_reference: max_bytes, most: max_bytes };
    let (head, side) = compose(out, head, side, string, shares);
    // A head that came out shorter than expected leaves a byte that the base layer does not have.
    out.truncate(side + head.base_reference);
    CodedFrame::new(&head, side, out.split().freeze())
}

/// Returns a frame that is predicted from nothing in place of another one, all of which is its base layer. `side`: the
/// vectors that the next frame can copy. It has at most `max_bytes`, or half of these for the picture if the vectors take
/// the other half or more.
pub(super) fn random_access(
    out: &mut BytesMut,
    head: Head,
    side: &[u8],
    string: &[u8],
    max_bytes: usize,
) -> CodedFrame {
    base_reference_alone(out, head, side, string, max_bytes.max(side.len() + MAX_HEAD + max_bytes / 2))
}
