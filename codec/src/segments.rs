//! How the stripes' bytes share one stream (spec, "Segments").
//!
//! Every stripe is one range-coded string. The stream takes a slice of each in turn, so that every prefix
//! holds all stripes to nearly the same piece. A picture of one stripe needs no lengths at all.

use crate::header::write_varint;

/// A segment is closed when it holds at least one byte for every `SHARE` bytes before it.
const SHARE: usize = 4;
/// Least bytes of a segment for every stripe.
const LEAST: usize = 16;

/// A coded stripe: its bytes, and how many were written after each piece.
pub(crate) struct Coded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) marks: Vec<usize>,
    /// Whether it was coded to its last piece.
    pub(crate) whole: bool,
}

/// Bytes of each of `stripes` stripes that fix the first `bytes` of a stream: every segment that begins in
/// those is closed by then.
pub(crate) const fn enough(bytes: usize, stripes: usize) -> usize {
    bytes.saturating_add(bytes / SHARE).saturating_add(LEAST * stripes)
}

/// Appends the stripes' bytes to `out`, interleaved.
pub(crate) fn write(out: &mut Vec<u8>, stripes: &[Coded]) {
    if let [only] = stripes {
        return out.extend_from_slice(&only.bytes);
    }
    let pieces = stripes.iter().map(|stripe| stripe.marks.len()).min().unwrap_or(0);
    let whole = stripes.iter().all(|stripe| stripe.whole);
    let (mut sent, mut before) = (vec![0; stripes.len()], 0);
    for piece in 0..pieces {
        let last = whole && piece + 1 == pieces;
        let end = |stripe: &Coded| if last { stripe.bytes.len() } else { stripe.marks[piece] };
        let ends: Vec<usize> = stripes.iter().map(end).collect();
        let now: usize = ends.iter().sum();
        if now == before || !last && now < before + (before / SHARE).max(LEAST * stripes.len()) {
            continue;
        }
        for (&end, sent) in ends.iter().zip(&sent) {
            write_varint(out, end - sent);
        }
        for ((stripe, &end), sent) in stripes.iter().zip(&ends).zip(&sent) {
            out.extend_from_slice(&stripe.bytes[*sent..end]);
        }
        sent = ends;
        before = now;
    }
}

/// Sorts a stream's bytes back to the stripes as they arrive.
#[derive(Debug)]
pub(crate) struct Splitter {
    /// Bytes still to come for each stripe in this segment.
    lengths: Vec<usize>,
    /// Lengths read so far of the segment's head; all of them when its body is being read.
    read: usize,
    /// The stripe whose bytes come next.
    stripe: usize,
    /// A length of which some bytes arrived, and how many bits those are.
    partial: (usize, u32),
}

impl Splitter {
    pub(crate) fn new(stripes: usize) -> Self {
        Self { lengths: vec![0; stripes], read: 0, stripe: 0, partial: (0, 0) }
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
                let count = self.lengths[self.stripe].min(bytes.len());
                give(self.stripe, &bytes[..count]);
                self.lengths[self.stripe] -= count;
                bytes = &bytes[count..];
            }
            self.advance();
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
        Ok(())
    }

    /// Passes over the stripes that have all their bytes, and on to the next segment.
    fn advance(&mut self) {
        if self.read < self.lengths.len() {
            return;
        }
        while self.stripe < self.lengths.len() && self.lengths[self.stripe] == 0 {
            self.stripe += 1;
        }
        if self.stripe == self.lengths.len() {
            self.read = 0;
            self.stripe = 0;
        }
    }
}
