//! Binary range coder (spec, "Range coder"): integers only, exact at every cut.
//!
//! A decoder whose bytes ran out knows an interval of possible codes. A bit is decoded if the whole interval
//! agrees on it and refused otherwise, so a prefix yields every symbol that its bytes determine and no other.

use crate::contexts::CONTEXTS;
use crate::probability::{PROBABILITY_BITS, Probability};

const TOP: u32 = 1 << 24;

/// One side of the coder. The same traversal drives both, so they cannot disagree.
pub(crate) trait Coder {
    /// Codes one bit with `probabilities[context]`: an encoder writes `bit` and returns it, a decoder ignores `bit` and returns what it
    /// read, or `None` if the bytes at hand do not determine it.
    fn code(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool>;

    /// Bytes written or read so far.
    fn position(&self) -> usize;
}

/// Writes bits.
pub(crate) struct RangeEncoder {
    low: u64,
    range: u32,
    /// The last byte that is not yet certain, and how many 0xFF follow it.
    held: Option<u8>,
    carries: usize,
    bytes: Vec<u8>,
}

impl RangeEncoder {
    pub(crate) const fn new() -> Self {
        Self { low: 0, range: u32::MAX, held: None, carries: 0, bytes: Vec::new() }
    }

    fn shift(&mut self) {
        let [_, _, _, top, carry, ..] = self.low.to_le_bytes();
        if top != 0xFF || carry != 0 {
            if let Some(held) = self.held {
                self.bytes.push(held.wrapping_add(carry));
            }
            let filled = self.bytes.len() + self.carries;
            self.bytes.resize(filled, 0xFF_u8.wrapping_add(carry));
            self.carries = 0;
            self.held = Some(top);
        } else {
            self.carries += 1;
        }
        self.low = (self.low & 0x00FF_FFFF) << 8;
    }

    /// Writes what is still held back, so that every bit is determined.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        self.bytes
    }
}

impl Coder for RangeEncoder {
    #[inline]
    fn code(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        let probability = &mut probabilities[context];
        let bound = (self.range >> PROBABILITY_BITS) * probability.of_one();
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        probability.adapt(bit);
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
        Some(bit)
    }

    fn position(&self) -> usize {
        self.bytes.len()
    }
}

/// Reads bits from the bytes that arrived so far; more may be pushed at any time.
#[derive(Debug)]
pub(crate) struct RangeDecoder {
    bytes: Vec<u8>,
    /// Bytes arrived since the coder last starved.
    news: bool,
    at: usize,
    range: u32,
    /// Code minus low, with zeros for the bytes that are missing.
    code: u32,
    /// How many low bytes of `code` are missing, 0..=4.
    missing: u32,
}

impl RangeDecoder {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), news: false, at: 0, range: u32::MAX, code: 0, missing: 4 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.news |= !bytes.is_empty();
        while self.missing > 0 && self.at < self.bytes.len() {
            self.missing -= 1;
            self.code += u32::from(self.bytes[self.at]) << (8 * self.missing);
            self.at += 1;
        }
    }

    /// Whether bytes arrived that no symbol was tried on.
    pub(crate) const fn has_news(&self) -> bool {
        self.news
    }

    /// Says that every symbol was tried, and forgets the bytes that were read.
    pub(crate) fn rest(&mut self) {
        self.news = false;
        self.bytes.drain(..self.at);
        self.at = 0;
    }

    #[inline]
    fn refill(&mut self) {
        self.code <<= 8;
        if let (0, Some(byte)) = (self.missing, self.bytes.get(self.at)) {
            self.code |= u32::from(*byte);
            self.at += 1;
        } else {
            self.missing += 1;
        }
    }

    /// The largest code that the missing bytes allow, minus the smallest.
    #[inline]
    const fn slack(&self) -> u64 {
        (1 << (8 * self.missing)) - 1
    }
}

impl Coder for RangeDecoder {
    #[inline]
    fn code(&mut self, probabilities: &mut [Probability], context: usize, _bit: bool) -> Option<bool> {
        let probability = &mut probabilities[context];
        let bound = (self.range >> PROBABILITY_BITS) * probability.of_one();
        let bit = self.code < bound;
        if self.missing > 0 && bit && u64::from(self.code) + self.slack() >= u64::from(bound) {
            return None;
        }
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        probability.adapt(bit);
        while self.range < TOP {
            self.range <<= 8;
            self.refill();
        }
        Some(bit)
    }

    fn position(&self) -> usize {
        self.at
    }
}

/// Counts bits instead of writing them.
pub(crate) struct Counter {
    pub(crate) counts: Vec<[u64; 2]>,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self { counts: vec![[0; 2]; CONTEXTS] }
    }
}

impl Coder for Counter {
    fn code(&mut self, _probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        self.counts[context][usize::from(bit)] += 1;
        Some(bit)
    }

    fn position(&self) -> usize {
        0
    }
}
