//! The interleave of the slices' payloads in one stream (spec, "Interleave").
//!
//! Every slice has one range-coded payload. The stream is a sequence of segments, each of which brings all slices to
//! the end of the same coding pass. A segment takes a chunk of each payload in turn, many times, so that every prefix
//! contains all slices to nearly the same depth. A picture of one slice needs no lengths at all.

use std::ops::Range;

use bytes::BytesMut;

use crate::entropy::symbols::Symbols;
use crate::stream::header::write_varint;
use crate::subband::layout::MAX_SLICES;

/// The fewest bytes of a segment, as a mean over its slices. A length takes about two.
const MIN_SLICE_BYTES: usize = 512;
/// While all segments so far have fewer bytes than this, as a mean over slices, the next has at least as many as they
/// have.
const DOUBLING_SLICE_BYTES: usize = 4096;
/// A segment has at least one byte for this many bytes before it.
const BYTES_BEFORE_A_BYTE: usize = 4;
/// The most payloads of a stream: of every slice's colours, and of its opacity.
const MAX_PAYLOADS: usize = 2 * MAX_SLICES;
/// Chunks into which a segment divides each payload.
const SHARES_PER_SEGMENT: usize = 16;

/// A coded slice: its payload, and the bytes written by the end of each coding pass.
#[derive(Debug, Default)]
pub(crate) struct Coded<R> {
    pub(super) bytes: Vec<u8>,
    pub(super) marks: Vec<usize>,
    /// Whether it was coded to its last coding pass.
    pub(super) complete: bool,
    /// What its encoder recorded.
    pub(super) record: R,
}

/// Where an encoder stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Bytes of all slices after which it needs no more.
    pub(crate) bytes: usize,
    /// Whether the segment of the last byte ends with the first coding pass by which all slices have these bytes. If
    /// so, the encoder stops there. If not, the bytes are a prefix of those without a limit.
    pub(crate) shortens: bool,
}

impl Limit {
    /// The limit of a prefix of the bytes without a limit.
    pub(crate) const fn prefix(bytes: usize) -> Self {
        Self { bytes, shortens: false }
    }
}

/// A coded slice whose symbols can be followed.
pub(crate) type Followed = Coded<Symbols>;

/// The ends of segments.
pub(super) struct Ends {
    slices: usize,
    /// Bytes of all slices in the closed segments.
    pub(super) closed: usize,
}

impl Ends {
    pub(super) const fn new(slices: usize) -> Self {
        Self { slices, closed: 0 }
    }

    /// Says whether a segment ends after a coding pass by which all slices have `written` bytes. A single slice can be
    /// cut anywhere.
    pub(super) fn close(&mut self, written: usize) -> bool {
        let doubled = self.closed.min(DOUBLING_SLICE_BYTES * self.slices);
        let least = (self.closed / BYTES_BEFORE_A_BYTE).max(doubled).max(MIN_SLICE_BYTES * self.slices);
        let closes = self.slices == 1 || written >= self.closed + least;
        if closes {
            self.closed = written;
        }
        closes
    }
}

/// Appends the slices' bytes to `out`, interleaved. `shortens`: the last segment ends with the last coding pass.
pub(super) fn write<'a, R: 'a>(
    out: &mut BytesMut,
    slices: impl ExactSizeIterator<Item = &'a Coded<R>> + Clone,
    shortens: bool,
) {
    let count = slices.len();
    if count == 1 {
        return slices.for_each(|slice| out.extend_from_slice(&slice.bytes));
    }
    let passes = slices.clone().map(|slice| slice.marks.len()).min().unwrap_or(0);
    let complete = slices.clone().all(|slice| slice.complete);
    let mut sent = [0; MAX_PAYLOADS];
    let mut closing = Ends::new(count);
    for pass in 0..passes {
        let last = (complete || shortens) && pass + 1 == passes;
        let end = |slice: &Coded<R>| if last && complete { slice.bytes.len() } else { slice.marks[pass] };
        let written: usize = slices.clone().map(end).sum();
        if !closing.close(written) && (!last || written == closing.closed) {
            continue;
        }
        for (slice, sent) in slices.clone().zip(&sent) {
            write_varint(out, end(slice) - sent);
        }
        for number in 0..SHARES_PER_SEGMENT {
            for (slice, &sent) in slices.clone().zip(&sent) {
                let share = share(end(slice) - sent, number);
                out.extend_from_slice(&slice.bytes[sent + share.start..sent + share.end]);
            }
        }
        slices.clone().zip(&mut sent).for_each(|(slice, sent)| *sent = end(slice));
    }
}

/// The byte range of a payload's chunk, if the segment has `length` bytes of the payload.
const fn share(length: usize, number: usize) -> Range<usize> {
    length * number / SHARES_PER_SEGMENT..length * (number + 1) / SHARES_PER_SEGMENT
}

/// Returns a stream's bytes to the slices as they arrive.
#[derive(Debug)]
pub(super) struct Deinterleaver {
    /// Bytes for each slice in this segment.
    lengths: [usize; MAX_PAYLOADS],
    /// Number of slices.
    count: usize,
    /// The segment's lengths that were read so far; all of them while its chunks are read.
    read: usize,
    /// The chunk that is being read, its slice, and its missing bytes.
    share: usize,
    slice: usize,
    left: usize,
    /// A length of which some bytes arrived, and the number of their bits.
    partial: (usize, u32),
}

impl Deinterleaver {
    pub(super) fn new(slices: usize) -> Self {
        Self { lengths: [0; MAX_PAYLOADS], count: slices, read: 0, share: 0, slice: 0, left: 0, partial: (0, 0) }
    }

    /// Hands `bytes` to their slices by calls of `give(slice, bytes)`.
    ///
    /// # Errors
    /// If a length has more than four bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut give: impl FnMut(usize, &[u8])) -> Result<(), &'static str> {
        if self.count == 1 {
            give(0, bytes);
            return Ok(());
        }
        while !bytes.is_empty() {
            if self.read < self.count {
                self.length(bytes[0])?;
                bytes = &bytes[1..];
            } else {
                let count = self.left.min(bytes.len());
                give(self.slice, &bytes[..count]);
                self.left -= count;
                bytes = &bytes[count..];
                self.advance();
            }
        }
        Ok(())
    }

    fn length(&mut self, byte: u8) -> Result<(), &'static str> {
        let (value, bits) = self.partial;
        if bits > 21 {
            return Err("a segment's length takes more than four bytes");
        }
        self.partial = (value | usize::from(byte & 0x7F) << bits, bits + 7);
        if byte < 0x80 {
            self.lengths[self.read] = self.partial.0;
            self.partial = (0, 0);
            self.read += 1;
        }
        if self.read == self.count {
            self.left = share(self.lengths[0], 0).len();
            self.advance();
        }
        Ok(())
    }

    /// Skips chunks without bytes, and goes on to the next segment.
    fn advance(&mut self) {
        while self.left == 0 {
            self.slice += 1;
            if self.slice == self.count {
                (self.slice, self.share) = (0, self.share + 1);
            }
            if self.share == SHARES_PER_SEGMENT {
                (self.read, self.share) = (0, 0);
                return;
            }
            self.left = share(self.lengths[self.slice], self.share).len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of segments up to `last`, if slices can be divided after every byte.
    fn ends(slices: usize, last: usize) -> Vec<usize> {
        let mut ends = Ends::new(slices);
        (1..=last).filter(|&written| ends.close(written)).collect()
    }

    #[test]
    fn segments_double_while_they_are_small_and_grow_by_a_quarter_when_they_are_large() {
        assert_eq!(ends(2, 50_000), [1024, 2048, 4096, 8192, 16_384, 24_576, 32_768, 40_960]);
        assert_eq!(ends(3, 110_000)[..5], [1536, 3072, 6144, 12_288, 24_576]);
        // A quarter of 40960 bytes, which is more than 8192.
        assert_eq!(ends(2, 51_200)[8..], [51_200]);
    }

    #[test]
    fn a_single_slice_may_end_anywhere() {
        assert_eq!(ends(1, 5), [1, 2, 3, 4, 5]);
    }
}
