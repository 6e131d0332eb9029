//! Decodes Huffman codes of JPEG (ITU-T T.81, annexes C and F), enough to walk over a scan.

/// The number of bits that index the table.
const LOOKUP_BITS: u32 = 9;
const MAX_LENGTH: u32 = 16;

/// A table of codes.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// For the next [`LOOKUP_BITS`] bits: the code's length, or 0, and its symbol.
    short: Vec<(u8, u8)>,
    /// For each length: the code after the last of this length, and the number to add to a code for its place in
    /// `symbols`.
    long: [(u32, i32); MAX_LENGTH as usize + 1],
    symbols: Vec<u8>,
    /// The number of codes of each length.
    counts: [u8; MAX_LENGTH as usize],
}

impl Table {
    /// Reads a table from a segment. Returns it and its length in bytes; `None` if the bytes are no table.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (counts, rest) = bytes.split_first_chunk::<{ MAX_LENGTH as usize }>()?;
        let count = counts.iter().map(|&count| usize::from(count)).sum();
        let symbols = rest.get(..count)?.to_vec();
        let mut short = vec![(0, 0); 1 << LOOKUP_BITS];
        let mut long = [(0, 0); MAX_LENGTH as usize + 1];
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1..).zip(counts) {
            let offset = i32::try_from(place).ok()? - i32::try_from(code).ok()?;
            for _ in 0..count {
                if length <= LOOKUP_BITS {
                    let first = usize::try_from(code << (LOOKUP_BITS - length)).ok()?;
                    let same = short.get_mut(first..first + (1 << (LOOKUP_BITS - length)))?;
                    same.fill((length.to_le_bytes()[0], symbols[place]));
                }
                code += 1;
                place += 1;
            }
            if code > 1 << length {
                return None;
            }
            long[usize::try_from(length).ok()?] = (code, offset);
            code <<= 1;
        }
        Some((Self { short, long, symbols, counts: *counts }, counts.len() + count))
    }
}

impl Table {
    /// Returns the table's bytes in a segment.
    pub(super) fn source(&self) -> Vec<u8> {
        [&self.counts[..], &self.symbols].concat()
    }

    /// Returns a symbol's code, and its length in bits.
    pub(super) fn code(&self, symbol: u8) -> Option<(u32, u32)> {
        let place = self.symbols.iter().position(|known| *known == symbol)?;
        let (mut code, mut first) = (0, 0);
        for (length, &count) in (1..).zip(&self.counts) {
            let count = usize::from(count);
            if place < first + count {
                return Some((code + u32::try_from(place - first).ok()?, length));
            }
            code = (code + u32::try_from(count).ok()?) << 1;
            first += count;
        }
        None
    }
}

/// A copy of the bits that were read.
#[derive(Debug, Default)]
pub(super) struct Copied {
    words: Vec<u64>,
    /// The number of bits.
    length: u64,
}

impl Copied {
    /// Appends the first `bits` bits of a word, at most 16.
    fn put(&mut self, word: u64, bits: u32) {
        let used = u32::try_from(self.length % 64).unwrap_or(0);
        let word = word & !(u64::MAX.checked_shr(bits).unwrap_or(0));
        if used == 0 {
            self.words.push(word);
        } else {
            if let Some(last) = self.words.last_mut() {
                *last |= word >> used;
            }
            if used + bits > 64 {
                self.words.push(word << (64 - used));
            }
        }
        self.length += u64::from(bits);
    }

    /// Returns `bits` bits from bit `at` on, at most 32.
    pub(super) fn bits(&self, at: u64, bits: u32) -> u32 {
        let place = usize::try_from(at / 64).unwrap_or(usize::MAX);
        let [first, second] = [place, place + 1].map(|place| self.words.get(place).copied().unwrap_or(0));
        let both = (u128::from(first) << 64 | u128::from(second)) << (at % 64);
        u32::try_from(both >> 96).unwrap_or(0) >> (32 - bits)
    }
}

/// The bits of a scan up to the next marker.
#[derive(Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, from the highest bit down.
    buffer: u64,
    /// The number of bits in the buffer; negative after the bits end.
    count: i32,
    /// The copy of all bits that are read, if one is wanted.
    copied: Option<Copied>,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, buffer: 0, count: 0, copied: None }
    }

    /// Appends all bits that are read to `copied`.
    pub(super) fn copying(mut self, copied: Copied) -> Self {
        self.copied = Some(copied);
        self
    }

    /// Returns the length of the copy in bits.
    pub(super) fn copied(&self) -> u64 {
        self.copied.as_ref().map_or(0, |copied| copied.length)
    }

    /// Returns the copy.
    pub(super) fn into_copied(self) -> Copied {
        self.copied.unwrap_or_default()
    }

    /// Returns all bytes of the file.
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn fill(&mut self) {
        while (0..=56).contains(&self.count) {
            let Some(&byte) = self.bytes.get(self.at) else { return };
            if byte == 0xFF {
                match self.bytes.get(self.at + 1) {
                    Some(0) => self.at += 1,
                    Some(0xFF) => {
                        self.at += 1; // a fill byte
                        continue;
                    }
                    _ => return,
                }
            }
            self.at += 1;
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// Reads a symbol; `None` if the bits are no code, or end.
    pub(super) fn symbol(&mut self, table: &Table) -> Option<u8> {
        if self.count < i32::try_from(MAX_LENGTH).ok()? {
            self.fill();
        }
        let (length, symbol) = table.short[usize::try_from(self.buffer >> (64 - LOOKUP_BITS)).ok()?];
        if length > 0 {
            return self.skip(length.into()).then_some(symbol);
        }
        for length in LOOKUP_BITS + 1..=MAX_LENGTH {
            let code = u32::try_from(self.buffer >> (64 - length)).ok()?;
            let (end, offset) = table.long[usize::try_from(length).ok()?];
            if code < end {
                let place = usize::try_from(i32::try_from(code).ok()? + offset).ok()?;
                return self.skip(length).then(|| table.symbols.get(place).copied())?;
            }
        }
        None
    }

    /// Reads a number of `bits` bits, at most 16; `None` if the bits end.
    pub(super) fn number(&mut self, bits: u32) -> Option<u32> {
        if bits == 0 {
            return Some(0);
        }
        if self.count < i32::try_from(MAX_LENGTH).ok()? {
            self.fill();
        }
        let number = u32::try_from(self.buffer >> (64 - bits)).ok()?;
        self.skip(bits).then_some(number)
    }

    /// Skips bits. Returns whether there were as many.
    fn skip(&mut self, bits: u32) -> bool {
        if let Some(copied) = &mut self.copied {
            copied.put(self.buffer, bits);
        }
        self.buffer <<= bits;
        self.count -= i32::try_from(bits).unwrap_or(i32::MAX);
        self.count >= 0
    }

    /// Returns where the unread bytes begin, after the padding of the last byte.
    pub(super) fn end(&self) -> usize {
        let mut unread = usize::try_from(self.count / 8).unwrap_or(0);
        let mut at = self.at;
        while unread > 0 && at > 0 {
            at -= 1;
            // A zero after 0xFF is no byte of its own.
            if at > 0 && self.bytes[at] == 0 && self.bytes[at - 1] == 0xFF {
                at -= 1;
            }
            unread -= 1;
        }
        at
    }
}
