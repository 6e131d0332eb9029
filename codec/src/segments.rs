//! How the stripes' bytes share one stream (spec, "Segments").
//!
//! Every stripe is one range-coded string. The stream is a row of segments, in which all strings come to the same piece;
//! a segment takes a slice of each string in turn, many times, so that every prefix holds all stripes to nearly the same
//! place. A picture of one stripe needs no lengths at all.

use std::ops::Range;

use crate::header::write_varint;

/// A segment is closed when it holds at least one byte for every `SHARE` bytes before it.
const SHARE: usize = 4;
/// Slices of a segment's share of each string.
const ROUNDS: usize = 16;
/// Least bytes of a segment for every stripe.
const LEAST: usize = 16;

/// A coded stripe: its bytes, and how many were written after each piece.
pub(crate) struct Coded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) marks: Vec<usize>,
    /// Whether it was coded to its last piece.
    pub(crate) whole: bool,
}

/// Where segments end.
pub(crate) struct Ends {
    stripes: usize,
    /// Bytes of all stripes in the segments that are closed.
    pub(crate) closed: usize,
}

impl Ends {
    pub(crate) const fn new(stripes: usize) -> Self {
        Self { stripes, closed: 0 }
    }

    /// Whether a segment ends behind a piece up to which all stripes have `written` bytes. A single stripe is cut anywhere.
    pub(crate) fn close(&mut self, written: usize) -> bool {
        let least = (self.closed / SHARE).max(LEAST * self.stripes);
        let closes = self.stripes == 1 || written >= self.closed + least;
        if closes {
            self.closed = written;
        }
        closes
    }
}

/// Appends the stripes' bytes to `out`, interleaved.
pub(crate) fn write(out: &mut Vec<u8>, stripes: &[Coded]) {
    if let [only] = stripes {
        return out.extend_from_slice(&only.bytes);
    }
    let pieces = stripes.iter().map(|stripe| stripe.marks.len()).min().unwrap_or(0);
    let whole = stripes.iter().all(|stripe| stripe.whole);
    let (mut sent, mut closing) = (vec![0; stripes.len()], Ends::new(stripes.len()));
    for piece in 0..pieces {
        let last = whole && piece + 1 == pieces;
        let end = |stripe: &Coded| if last { stripe.bytes.len() } else { stripe.marks[piece] };
        let ends: Vec<usize> = stripes.iter().map(end).collect();
        let written: usize = ends.iter().sum();
        if !closing.close(written) && (!last || written == closing.closed) {
            continue;
        }
        for (&end, sent) in ends.iter().zip(&sent) {
            write_varint(out, end - sent);
        }
        for round in 0..ROUNDS {
            for ((stripe, &end), &sent) in stripes.iter().zip(&ends).zip(&sent) {
                let slice = slice(end - sent, round);
                out.extend_from_slice(&stripe.bytes[sent + slice.start..sent + slice.end]);
            }
        }
        sent = ends;
    }
}

/// What a round takes of `length` bytes.
const fn slice(length: usize, round: usize) -> Range<usize> {
    length * round / ROUNDS..length * (round + 1) / ROUNDS
}

/// Sorts a stream's bytes back to the stripes as they arrive.
#[derive(Debug)]
pub(crate) struct Splitter {
    /// Bytes for each stripe in this segment.
    lengths: Vec<usize>,
    /// Lengths read so far of the segment's head; all of them when its body is being read.
    read: usize,
    /// The slice that comes next, and how many bytes of it are still to come.
    round: usize,
    stripe: usize,
    left: usize,
    /// A length of which some bytes arrived, and how many bits those are.
    partial: (usize, u32),
}

impl Splitter {
    pub(crate) fn new(stripes: usize) -> Self {
        Self { lengths: vec![0; stripes], read: 0, round: 0, stripe: 0, left: 0, partial: (0, 0) }
    }

    /// Hands out `bytes`, calling `give(stripe, bytes)`.
    ///
    /// # Errors
    /// If a length takes more than four bytes.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut give: impl FnMut(usize, &[u8])) -> Result<(), &'static str> {
        if self.lengths.len() == 1 {
            give(0, bytes);
            return Ok(());
        }
        while !bytes.is_empty() {
            if self.read < self.lengths.len() {
                self.length(bytes[0])?;
                bytes = &bytes[1..];
            } else {
                let count = self.left.min(bytes.len());
                give(self.stripe, &bytes[..count]);
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
        if self.read == self.lengths.len() {
            self.left = slice(self.lengths[0], 0).len();
            self.advance();
        }
        Ok(())
    }

    /// Passes over slices without bytes, and on to the next segment.
    fn advance(&mut self) {
        while self.left == 0 {
            self.stripe += 1;
            if self.stripe == self.lengths.len() {
                (self.stripe, self.round) = (0, self.round + 1);
            }
            if self.round == ROUNDS {
                (self.read, self.round) = (0, 0);
                return;
            }
            self.left = slice(self.lengths[self.stripe], self.round).len();
        }
    }
}
