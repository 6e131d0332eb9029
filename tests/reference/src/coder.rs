//! Section 7: the range decoder, once with a tail of `00` and once with a tail of `ff`.

/// A decoder of a payload that is never too short, because an endless tail follows it.
#[derive(Clone, Debug)]
struct Plain {
    range: u32,
    code: u32,
    position: usize,
    tail: u8,
}

impl Plain {
    fn start(payload: &[u8], tail: u8) -> Self {
        let mut plain = Self { range: u32::MAX, code: 0, position: 0, tail };
        for _ in 0..4 {
            plain.next(payload);
        }
        plain
    }

    fn next(&mut self, payload: &[u8]) {
        let byte = |at: usize| payload.get(at).copied().unwrap_or(self.tail);
        let mut next = byte(self.position);
        // No encoder writes ff ff ff ff: the fourth is read as fe.
        if self.position == 3 && (0..4).all(|at| byte(at) == 0xff) {
            next = 0xfe;
        }
        self.code = (self.code << 8) | u32::from(next);
        self.position += 1;
    }

    fn symbol(&mut self, payload: &[u8], q: u32) -> bool {
        assert!(self.code < self.range, "section 7 says that this always holds");
        let bound = (self.range >> 15) * q;
        let bit = self.code < bound;
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.next(payload);
        }
        bit
    }
}

/// Decodes what the first `taken` bytes of a payload determine.
#[derive(Debug)]
pub(super) struct Coder<'a> {
    payload: &'a [u8],
    taken: usize,
    zeros: Plain,
    ones: Plain,
    /// A moment at which no tail had been read, so that both decoders were the same; `since` has the symbols after it.
    solid: Option<Plain>,
    since: Vec<(u32, bool)>,
}

impl<'a> Coder<'a> {
    /// Starts without any of the payload.
    pub(super) fn new(payload: &'a [u8]) -> Self {
        let (zeros, ones) = (Plain::start(&[], 0), Plain::start(&[], 0xff));
        Self { payload, taken: 0, zeros, ones, solid: None, since: Vec::new() }
    }

    /// Returns the next symbol, if both tails agree on it.
    pub(super) fn symbol(&mut self, q: u32) -> Option<bool> {
        let payload = &self.payload[..self.taken];
        let (mut zeros, mut ones) = (self.zeros.clone(), self.ones.clone());
        let bit = zeros.symbol(payload, q);
        if ones.symbol(payload, q) != bit {
            return None;
        }
        (self.zeros, self.ones) = (zeros, ones);
        self.since.push((q, bit));
        Some(bit)
    }

    /// Adds one more byte, if there is one, and repeats the decoding.
    pub(super) fn grow(&mut self) -> bool {
        if self.taken == self.payload.len() {
            return false;
        }
        self.taken += 1;
        self.settle();
        self.zeros = self.again(0);
        self.ones = self.again(0xff);
        true
    }

    /// Moves the solid moment on as far as the taken bytes allow.
    fn settle(&mut self) {
        let payload = &self.payload[..self.taken];
        if self.taken < 4 {
            return;
        }
        let mut solid = self.solid.take().unwrap_or_else(|| Plain::start(payload, 0));
        let mut settled = 0;
        for &(q, _) in &self.since {
            let mut next = solid.clone();
            next.symbol(payload, q);
            if next.position > self.taken {
                break;
            }
            solid = next;
            settled += 1;
        }
        self.since.drain(..settled);
        self.solid = Some(solid);
    }

    fn again(&self, tail: u8) -> Plain {
        let payload = &self.payload[..self.taken];
        let mut plain = self.solid.clone().unwrap_or_else(|| Plain::start(payload, tail));
        plain.tail = tail;
        for &(q, bit) in &self.since {
            assert_eq!(plain.symbol(payload, q), bit, "a symbol was determined, and changed");
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::Coder;

    /// The example of section 7, whose symbols all have one probability.
    #[test]
    fn example_of_the_specification() {
        let payload = [0xa7, 0x3c, 0x51, 0x08, 0x9b];
        let expected = [
            "",
            "0101011",
            "01010111001111",
            "010101110011111001011",
            "0101011100111110010111010010011",
            "010101110011111001011101001001110010101",
        ];
        for (bytes, expected) in expected.into_iter().enumerate() {
            let mut coder = Coder::new(&payload[..bytes]);
            let (mut fast, mut slow) = (32768_i32, 32768_i32);
            let mut got = String::new();
            loop {
                let q = ((fast + slow) >> 2).clamp(32, 32736);
                let Some(bit) = coder.symbol(q.unsigned_abs()) else { if coder.grow() { continue } else { break } };
                got.push(if bit { '1' } else { '0' });
                let target = if bit { 65535 } else { 0 };
                fast += (target - fast) >> 4;
                slow += (target - slow) >> 8;
            }
            assert_eq!(got, expected, "{bytes} bytes");
        }
    }
}
