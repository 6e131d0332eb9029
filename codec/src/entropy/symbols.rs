//! What a range encoder did, so that an encoder can follow what a decoder knows after any prefix of its bytes, without
//! decoding them.

use crate::entropy::probability::{PROBABILITY_BITS, Probability};
use crate::entropy::range_coder::{Coder, RangeDecoder};
use crate::entropy::record::Record;

const _: () = assert!(PROBABILITY_BITS < u16::BITS, "a symbol's probability and bit fit in 16 bits");
/// Bytes from one checkpoint to the next.
const CHECKPOINT_BYTES: usize = 16;
/// Bytes that a decoder reads ahead.
const BYTES_AHEAD: usize = 4;

/// Every symbol, and the encoder's state after every [`CHECKPOINT_BYTES`] bytes.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// The probability, and the bit below it.
    symbols: Vec<u16>,
    checkpoints: Vec<Checkpoint>,
    /// Bytes by which the range moved.
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Checkpoint {
    symbols: usize,
    low: u64,
    range: u32,
}

impl Record for Symbols {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "15 bits and one")]
    fn note_symbol(&mut self, of_one: u32, bit: bool) {
        self.symbols.push((of_one << 1) as u16 | u16::from(bit));
    }

    #[inline(always)]
    fn note_byte(&mut self, low: u64, range: u32) {
        self.bytes += 1;
        if self.bytes.is_multiple_of(CHECKPOINT_BYTES) {
            self.checkpoints.push(Checkpoint { symbols: self.symbols.len(), low, range });
        }
    }

    fn clear(&mut self) {
        self.symbols.clear();
        self.checkpoints.clear();
        self.bytes = 0;
    }
}

impl Symbols {
    /// Returns the number of symbols that these first bytes of the encoder's determine. `coder` is memory.
    pub(crate) fn determined(&self, bytes: &[u8], coder: &mut RangeDecoder) -> usize {
        let checkpoint = bytes.len().saturating_sub(BYTES_AHEAD) / CHECKPOINT_BYTES;
        let Checkpoint { symbols, low, range } = match checkpoint.checked_sub(1) {
            Some(before) => self.checkpoints[before],
            None => Checkpoint { symbols: 0, low: 0, range: u32::MAX },
        };
        coder.begin_at(low, range, &bytes[checkpoint * CHECKPOINT_BYTES..]);
        let rest = self.symbols[symbols..].iter();
        symbols + rest.take_while(|symbol| coder.read(u32::from(**symbol) >> 1, |_| ()).is_some()).count()
    }

    /// Returns a coder that reads the symbols from number `from` up to number `to` again.
    pub(crate) fn replay(&self, from: usize, to: usize) -> Replay<'_> {
        Replay { symbols: self.symbols[from..to].iter(), read: from }
    }
}

/// Reads the symbols that an encoder noted.
#[derive(Debug, Default)]
pub(crate) struct Replay<'a> {
    symbols: std::slice::Iter<'a, u16>,
    read: usize,
}

impl Coder for Replay<'_> {
    const WRITES_BITS: bool = false;
    const USES_CONTEXTS: bool = false;

    #[inline(always)]
    fn code<const RATES: u32>(&mut self, _: &mut [Probability], _context: usize, _bit: bool) -> Option<bool> {
        let symbol = self.symbols.next()?;
        self.read += 1;
        Some(symbol & 1 != 0)
    }

    #[inline(always)]
    fn code_even<const RATES: u32>(
        &mut self,
        probabilities: &mut [Probability],
        context: usize,
        bit: bool,
        _inverted: bool,
    ) -> Option<bool> {
        self.code::<RATES>(probabilities, context, bit)
    }

    /// Symbols read so far.
    fn position(&self) -> usize {
        self.read
    }
}
