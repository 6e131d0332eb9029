//! Huffman codes of JPEG (ITU-T T.81, annexes C and F), as far as it takes to walk over a scan.

/// Bits that one look into a table decodes.
const LOOK: u32 = 9;
const MAX_LENGTH: u32 = 16;

/// A table of codes.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// By the next [`LOOK`] bits: a code's length, or 0, and its symbol.
    short: Vec<(u8, u8)>,
    /// By length: the first code behind those of this length, and what to add to a code for its place in `symbols`.
    long: [(u32, i32); MAX_LENGTH as usize + 1],
    symbols: Vec<u8>,
    /// How many codes there are of each length.
    counts: [u8; MAX_LENGTH as usize],
}

impl Table {
    /// The table of a segment's bytes, and how many it takes; nothing if they make none.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (counts, rest) = bytes.split_first_chunk::<{ MAX_LENGTH as usize }>()?;
        let count = counts.iter().map(|&count| usize::from(count)).sum();
        let symbols = rest.get(..count)?.to_vec();
        let mut short = vec![(0, 0); 1 << LOOK];
        let mut long = [(0, 0); MAX_LENGTH as usize + 1];
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1..).zip(counts) {
            let offset = i32::try_from(place).ok()? - i32::try_from(code).ok()?;
            for _ in 0..count {
                if length <= LOOK {
                    let first = usize::try_from(code << (LOOK - length)).ok()?;
                    let same = short.get_mut(first..first + (1 << (LOOK - length)))?;
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
    /// The table as a segment has it.
    pub(super) fn source(&self) -> Vec<u8> {
        [&self.counts[..], &self.symbols].concat()
    }

    /// A symbol's code, and its length in bits.
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

/// Bits that were taken, one after another.
#[derive(Debug, Default)]
pub(super) struct Copied {
    words: Vec<u64>,
    /// How many bits there are.
    length: u64,
}

impl Copied {
    /// Appends the first bits of a word, at most 16.
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

    /// So many bits from this one on, at most 32.
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
    /// The next bits, the first of them highest.
    buffer: u64,
    /// How many of the buffer were read; below 0 once more are taken than there are.
    count: i32,
    /// Where what is taken goes too.
    copied: Option<Copied>,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, buffer: 0, count: 0, copied: None }
    }

    /// Appends to these all bits that are taken.
    pub(super) fn copying(mut self, copied: Copied) -> Self {
        self.copied = Some(copied);
        self
    }

    /// How many bits were copied, with those before.
    pub(super) fn copied(&self) -> u64 {
        self.copied.as_ref().map_or(0, |copied| copied.length)
    }

    /// All bits that were copied.
    pub(super) fn into_copied(self) -> Copied {
        self.copied.unwrap_or_default()
    }

    /// All bytes of the file.
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
                        self.at += 1; // a byte that fills up
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

    /// The next symbol; nothing if the bits make none or end.
    pub(super) fn symbol(&mut self, table: &Table) -> Option<u8> {
        if self.count < i32::try_from(MAX_LENGTH).ok()? {
            self.fill();
        }
        let (length, symbol) = table.short[usize::try_from(self.buffer >> (64 - LOOK)).ok()?];
        if length > 0 {
            return self.skip(length.into()).then_some(symbol);
        }
        for length in LOOK + 1..=MAX_LENGTH {
            let code = u32::try_from(self.buffer >> (64 - length)).ok()?;
            let (end, offset) = table.long[usize::try_from(length).ok()?];
            if code < end {
                let place = usize::try_from(i32::try_from(code).ok()? + offset).ok()?;
                return self.skip(length).then(|| table.symbols.get(place).copied())?;
            }
        }
        None
    }

    /// A number of so many bits, at most 16; nothing if they end.
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

    /// Goes on; gives whether there were as many bits.
    fn skip(&mut self, bits: u32) -> bool {
        if let Some(copied) = &mut self.copied {
            copied.put(self.buffer, bits);
        }
        self.buffer <<= bits;
        self.count -= i32::try_from(bits).unwrap_or(i32::MAX);
        self.count >= 0
    }

    /// Where the bytes go on whose bits were not taken, those that fill up the last byte left out.
    pub(super) fn end(&self) -> usize {
        let mut unread = usize::try_from(self.count / 8).unwrap_or(0);
        let mut at = self.at;
        while unread > 0 && at > 0 {
            at -= 1;
            // A zero behind 0xFF is no byte of its own.
            if at > 0 && self.bytes[at] == 0 && self.bytes[at - 1] == 0xFF {
                at -= 1;
            }
            unread -= 1;
        }
        at
    }
}
