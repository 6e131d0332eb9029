//! Binary range coder (spec, "Range coder"): integers only, exact at every truncation point.
//!
//! The coder is that of LZMA (Pavlov, LZMA specification, 2015), a range coder (Martin, "Range encoding: an algorithm
//! for removing redundancy from a digitised message", 1979) with a carry. It differs in three ways: a one takes the
//! lower part of the range, no byte precedes the code, and probabilities have 15 bits. The decoder's end is new: a
//! decoder without further bytes knows an interval of possible codes. It decodes a bit if the whole interval agrees on
//! it, and refuses it otherwise. So a prefix yields every symbol that its bytes determine and no other.

use crate::entropy::probability::{PROBABILITY_BITS, Probability};
use crate::entropy::record::Record;

/// The coder renormalises the range, a byte at a time, as soon as it is below this.
const MIN_RANGE: u32 = 1 << 24;
/// Zeros that a decoder appends to bytes that were written [before zeros](RangeEncoder::finish_before_zeros).
pub(crate) const ZERO_PADDING: [u8; 8] = [0; 8];

/// One side of the coder. The same traversal drives both, so they cannot disagree.
pub(crate) trait Coder: Default {
    /// Whether it needs the bits from its caller.
    const WRITES_BITS: bool;
    /// Whether it needs contexts; if not, any number will do.
    const USES_CONTEXTS: bool = true;

    /// Codes one bit with `probabilities[context]`, which moves at the rates `RATES`. An encoder writes `bit` and
    /// returns it. A decoder ignores `bit` and returns the bit that it read, or `None` if the bytes at hand do not
    /// determine it.
    fn code<const RATES: u32>(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool>;

    /// Codes a bit that is about as often zero as one, without a branch on it. `inverted`: in its place the opposite
    /// bit is coded.
    #[inline(always)]
    fn code_even<const RATES: u32>(
        &mut self,
        probabilities: &mut [Probability],
        context: usize,
        bit: bool,
        inverted: bool,
    ) -> Option<bool> {
        Some(self.code::<RATES>(probabilities, context, bit != inverted)? != inverted)
    }

    /// Announces the coefficient of the next symbol: its subband, column and row. Only coders that train on symbols use
    /// it.
    #[inline(always)]
    fn about(&mut self, _subband: usize, _place: [usize; 2]) {}

    /// Bytes written or read so far.
    fn position(&self) -> usize;
}

/// Writes bits, and records what it does. The range is apart from what calls change, so that it stays in registers.
#[derive(Debug)]
pub(crate) struct RangeEncoder<R = ()> {
    low: u64,
    range: u32,
    out: Out,
    record: R,
}

/// The bytes of a range encoder.
#[derive(Debug, Default)]
struct Out {
    /// The last byte that a carry may still change, and how many 0xFF follow it.
    held: Option<u8>,
    pending: usize,
    bytes: Vec<u8>,
}

impl Out {
    /// Takes the highest byte of the range's low end, and a carry.
    fn take(&mut self, top: u8, carry: u8) {
        if top != 0xFF || carry != 0 {
            if let Some(held) = self.held {
                self.bytes.push(held.wrapping_add(carry));
            }
            let filled = self.bytes.len() + self.pending;
            self.bytes.resize(filled, 0xFF_u8.wrapping_add(carry));
            self.pending = 0;
            self.held = Some(top);
        } else {
            self.pending += 1;
        }
    }
}

impl<R: Record> RangeEncoder<R> {
    /// Begins again, in the memory of `bytes` and `record`.
    pub(crate) fn restart(&mut self, mut bytes: Vec<u8>, mut record: R) {
        bytes.clear();
        record.clear();
        *self = Self { out: Out { bytes, ..Out::default() }, record, ..Self::default() };
    }

    #[inline(always)]
    fn shift(&mut self) {
        let [_, _, _, top, carry, ..] = self.low.to_le_bytes();
        self.out.take(top, carry);
        self.low = (self.low & 0x00FF_FFFF) << 8;
    }

    /// Moves the range by bytes until it is large enough.
    #[inline(always)]
    fn normalise(&mut self) {
        while self.range < MIN_RANGE {
            self.range <<= 8;
            self.shift();
            self.record.note_byte(self.low, self.range);
        }
    }

    /// Writes the bytes that are still held back, so that every bit is determined. Returns all bytes and the record.
    pub(crate) fn finish_recorded(mut self) -> (Vec<u8>, R) {
        for _ in 0..5 {
            self.shift();
        }
        (self.out.bytes, self.record)
    }
}

impl RangeEncoder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// As [`RangeEncoder::finish_recorded`], without a record.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.finish_recorded().0
    }

    /// Writes the fewest bytes that determine every bit to a decoder that knows that [`ZERO_PADDING`] follow. It leaves
    /// out no more zeros than these, even if a long run of likely bits ends in more.
    pub(crate) fn finish_before_zeros(mut self) -> Vec<u8> {
        let end = self.low + u64::from(self.range);
        let rounded = (0..32).rev().map(|bits| self.low.next_multiple_of(1 << bits));
        self.low = rounded.into_iter().find(|low| *low < end).unwrap_or(self.low);
        let mut bytes = self.finish();
        let left_out = bytes.iter().rev().take(ZERO_PADDING.len()).take_while(|byte| **byte == 0).count();
        bytes.truncate(bytes.len() - left_out);
        bytes
    }
}

impl<R: Default> Default for RangeEncoder<R> {
    fn default() -> Self {
        Self { low: 0, range: u32::MAX, out: Out::default(), record: R::default() }
    }
}

impl<R: Record> Coder for RangeEncoder<R> {
    const WRITES_BITS: bool = true;

    #[inline(always)]
    fn code<const RATES: u32>(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        let probability = &mut probabilities[context];
        let of_one = probability.of_one();
        self.record.note_symbol(of_one, bit);
        let bound = (self.range >> PROBABILITY_BITS) * of_one;
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        if bit {
            probability.rise::<RATES>();
        } else {
            probability.fall::<RATES>();
        }
        self.normalise();
        Some(bit)
    }

    #[inline(always)]
    fn code_even<const RATES: u32>(
        &mut self,
        probabilities: &mut [Probability],
        context: usize,
        bit: bool,
        inverted: bool,
    ) -> Option<bool> {
        let probability = &mut probabilities[context];
        let of_one = probability.of_one();
        self.record.note_symbol(of_one, bit);
        let bound = (self.range >> PROBABILITY_BITS) * of_one;
        let one = bit != inverted;
        let zeros = u32::from(one).wrapping_sub(1);
        self.low += u64::from(bound & zeros);
        self.range = bound ^ (bound ^ (self.range - bound)) & zeros;
        probability.learn::<RATES>(one);
        self.normalise();
        Some(bit)
    }

    fn position(&self) -> usize {
        self.out.bytes.len()
    }
}

/// Reads bits from the bytes that arrived so far; more may be pushed at any time.
#[derive(Debug)]
pub(crate) struct RangeDecoder {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes arrived since the coder last starved.
    news: bool,
    /// How many of the first four bytes arrived, if all of them are 0xFF.
    ones: u8,
    range: u32,
    /// Code minus low, with zeros for the bytes that are missing; always less than `range`.
    code: u32,
    /// How many low bytes of `code` are missing. With four or more nothing is determined.
    missing: u32,
}

impl RangeDecoder {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), at: 0, news: false, ones: 0, range: u32::MAX, code: 0, missing: 4 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let first = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.news |= !bytes.is_empty();
        for byte in &mut self.bytes[first..] {
            if self.ones == 4 {
                break;
            }
            self.ones = if *byte == 0xFF { self.ones + 1 } else { 4 };
            // No encoder begins with four bytes of ones, because they are beyond the range.
            if self.ones == 4 && *byte == 0xFF {
                *byte = 0xFE;
            }
        }
        while self.missing > 0 && self.at < self.bytes.len() {
            self.missing -= 1;
            self.code += u32::from(self.bytes[self.at]) << (8 * self.missing);
            self.at += 1;
        }
    }

    /// Returns whether bytes arrived on which no symbol was tried yet.
    pub(crate) const fn has_news(&self) -> bool {
        self.news
    }

    /// Begins again, in the same memory.
    pub(crate) fn restart(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        *self = Self { bytes, ..Self::new() };
    }

    /// Begins in the middle, in the same memory: where an encoder had this state. `bytes` are those from the lowest
    /// four of `low` on.
    pub(crate) fn begin_at(&mut self, low: u64, range: u32, bytes: &[u8]) {
        self.restart();
        (self.range, self.ones) = (range, 4);
        self.push(bytes);
        // What the encoder has written is not part of the code, but for a carry.
        let [a, b, c, d, ..] = low.to_le_bytes();
        self.code = self.code.wrapping_sub(u32::from_le_bytes([a, b, c, d]));
        self.normalise();
    }

    /// Reads a bit with this probability of a one, in 1/32768; `None` if the bytes at hand do not determine it. `learn`
    /// gets the bit. Two complete paths instead of one with selections: a processor that predicts the bit goes on to
    /// the next one early.
    #[inline(always)]
    pub(super) fn read(&mut self, of_one: u32, learn: impl FnOnce(bool)) -> Option<bool> {
        let bound = (self.range >> PROBABILITY_BITS) * of_one;
        if self.code < bound {
            if self.missing > 0 && u64::from(self.code) + self.slack() >= u64::from(bound) {
                return None;
            }
            self.range = bound;
            learn(true);
            self.normalise();
            Some(true)
        } else {
            self.code -= bound;
            self.range -= bound;
            learn(false);
            self.normalise();
            Some(false)
        }
    }

    /// Notes that every symbol was tried, and drops the bytes that were read.
    pub(crate) fn wait(&mut self) {
        self.news = false;
        self.bytes.drain(..self.at);
        self.at = 0;
    }

    #[inline(always)]
    fn normalise(&mut self) {
        while self.range < MIN_RANGE {
            self.range <<= 8;
            self.code <<= 8;
            if let (0, Some(byte)) = (self.missing, self.bytes.get(self.at)) {
                self.code |= u32::from(*byte);
                self.at += 1;
            } else {
                self.missing += 1;
            }
        }
    }

    /// The largest code that the missing bytes allow, minus the smallest.
    #[inline(always)]
    const fn slack(&self) -> u64 {
        (1 << (8 * self.missing)) - 1
    }
}

impl Default for RangeDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Coder for RangeDecoder {
    const WRITES_BITS: bool = false;

    #[inline(always)]
    fn code<const RATES: u32>(
        &mut self,
        probabilities: &mut [Probability],
        context: usize,
        _bit: bool,
    ) -> Option<bool> {
        let probability = &mut probabilities[context];
        self.read(probability.of_one(), |one| {
            if one {
                probability.rise::<RATES>();
            } else {
                probability.fall::<RATES>();
            }
        })
    }

    #[inline(always)]
    fn code_even<const RATES: u32>(
        &mut self,
        probabilities: &mut [Probability],
        context: usize,
        bit: bool,
        inverted: bool,
    ) -> Option<bool> {
        if self.missing > 0 {
            return Some(self.code::<RATES>(probabilities, context, bit)? != inverted);
        }
        let probability = &mut probabilities[context];
        let bound = (self.range >> PROBABILITY_BITS) * probability.of_one();
        let one = self.code < bound;
        let zeros = u32::from(one).wrapping_sub(1);
        self.code -= bound & zeros;
        self.range = bound ^ (bound ^ (self.range - bound)) & zeros;
        probability.learn::<RATES>(one);
        self.normalise();
        Some(one != inverted)
    }

    fn position(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::probability::RATE_1_IN_16;

    /// Bits, each with its context.
    fn symbols() -> impl Strategy<Value = Vec<(usize, bool)>> {
        prop::collection::vec((0..4_usize, 0..100_u32), 0..3000)
            .prop_map(|all| all.into_iter().map(|(context, dice)| (context, dice < [1, 10, 50, 99][context])).collect())
    }

    fn evenly() -> Vec<Probability> {
        vec![Probability::new(0x8000); 4]
    }

    fn encode(symbols: &[(usize, bool)]) -> Vec<u8> {
        let mut coder = RangeEncoder::new();
        let mut probabilities = evenly();
        for &(context, bit) in symbols {
            coder.code::<RATE_1_IN_16>(&mut probabilities, context, bit);
        }
        coder.finish()
    }

    /// Decodes until the decoder starves, compares with the written symbols, and returns the number of symbols read.
    fn decode(coder: &mut RangeDecoder, probabilities: &mut [Probability], symbols: &[(usize, bool)]) -> usize {
        let read = symbols.iter().take_while(|&&(context, bit)| {
            match coder.code::<RATE_1_IN_16>(probabilities, context, false) {
                Some(read) => {
                    assert_eq!(read, bit);
                    true
                }
                None => false,
            }
        });
        read.count()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(symbols in symbols()) {
            let mut coder = RangeDecoder::new();
            coder.push(&encode(&symbols));
            prop_assert_eq!(decode(&mut coder, &mut evenly(), &symbols), symbols.len());
        }

        #[test]
        fn what_ends_before_zeros_is_read_with_zeros_behind_it(symbols in symbols()) {
            let mut coder = RangeEncoder::new();
            let mut probabilities = evenly();
            for &(context, bit) in &symbols {
                coder.code::<RATE_1_IN_16>(&mut probabilities, context, bit);
            }
            let bytes = coder.finish_before_zeros();
            prop_assert!(bytes.len() <= encode(&symbols).len());
            let mut coder = RangeDecoder::new();
            coder.push(&bytes);
            coder.push(&ZERO_PADDING);
            prop_assert_eq!(decode(&mut coder, &mut evenly(), &symbols), symbols.len());
        }

        #[test]
        fn bytes_may_come_one_by_one_and_each_prefix_gives_all_it_determines(symbols in symbols()) {
            let bytes = encode(&symbols);
            let mut patient = RangeDecoder::new();
            let mut probabilities = evenly();
            let mut read = 0;
            for count in 1..=bytes.len().min(80) {
                patient.push(&bytes[count - 1..count]);
                read += decode(&mut patient, &mut probabilities, &symbols[read..]);
                let mut hasty = RangeDecoder::new();
                hasty.push(&bytes[..count]);
                prop_assert_eq!(read, decode(&mut hasty, &mut evenly(), &symbols));
                // Brute force: the symbols on which a tail of zeros and a tail of ones agree.
                let [zeros, ones] = [0x00, 0xFF].map(|tail| {
                    let mut coder = RangeDecoder::new();
                    coder.push(&bytes[..count]);
                    coder.push(&vec![tail; 3100]);
                    let mut probabilities = evenly();
                    let bits = symbols.iter().map(|&(context, _)| coder.code::<RATE_1_IN_16>(&mut probabilities, context, false));
                    bits.collect::<Vec<_>>()
                });
                let agreed = zeros.iter().zip(&ones).take_while(|(zero, one)| zero == one).count();
                prop_assert_eq!(read, agreed);
            }
        }

        #[test]
        fn any_bytes_in_any_chunks_read_the_same(bytes in prop::collection::vec(prop_oneof![Just(0xFF_u8), any::<u8>()], 0..60), cut in 0..60_usize) {
            let contexts: Vec<usize> = (0..400).map(|i| i % 4).collect();
            let cut = cut.min(bytes.len());
            let mut whole = RangeDecoder::new();
            whole.push(&bytes);
            let mut probabilities = evenly();
            let at_once: Vec<bool> = contexts.iter().map_while(|&c| whole.code::<RATE_1_IN_16>(&mut probabilities, c, false)).collect();
            let mut parts = RangeDecoder::new();
            let mut probabilities = evenly();
            let mut in_parts = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                parts.push(part);
                while let Some(bit) = contexts.get(in_parts.len()).and_then(|&c| parts.code::<RATE_1_IN_16>(&mut probabilities, c, false)) {
                    in_parts.push(bit);
                }
                parts.wait();
            }
            prop_assert_eq!(at_once, in_parts);
        }
    }
}
