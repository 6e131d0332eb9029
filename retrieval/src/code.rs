//! Codes as bytes: bit 0, the first and most useful, is the highest bit of the first byte. So the order of the bytes is
//! the order of the paper's binary tree, read from left to right.

use crate::Error;

/// Bits of a code that its key holds.
pub(crate) const KEY_BITS: usize = 64;
/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = KEY_BITS / 8;

/// The number of leading bits that two codes of the same length share.
#[must_use]
pub fn shared_bits(a: &[u8], b: &[u8]) -> usize {
    match a.iter().zip(b).position(|(a, b)| a != b) {
        Some(at) => 8 * at + (a[at] ^ b[at]).leading_zeros() as usize,
        None => 8 * a.len().min(b.len()),
    }
}

/// The number of bits in which two codes of the same length differ.
#[must_use]
pub fn hamming_distance(a: &[u8], b: &[u8]) -> u32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let words = a.iter().zip(b).map(|(a, b)| (u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b)).count_ones());
    words.sum::<u32>() + a_rest.iter().zip(b_rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
}

/// A query, or an entry's code, in the two parts that an index keeps apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split<'a> {
    /// The first 64 bits, bit 0 the highest; bits that a shorter code lacks are 0.
    pub(crate) key: u64,
    /// The bytes after them.
    pub(crate) rest: &'a [u8],
}

impl<'a> Split<'a> {
    /// Splits a code of `bits` bits.
    pub(crate) fn of(code: &'a [u8], bits: usize) -> Result<Self, Error> {
        let behind_last = match (code.last(), bits % 8) {
            (Some(last), used @ 1..) => last << used,
            _ => 0,
        };
        if code.len() != bits.div_ceil(8) || behind_last != 0 {
            return Err(Error::Code { given: code.len(), bits });
        }
        let (first, rest) = code.split_at(code.len().min(KEY_BYTES));
        let mut key = [0; KEY_BYTES];
        key[..first.len()].copy_from_slice(first);
        Ok(Self { key: u64::from_be_bytes(key), rest })
    }

    /// The number of leading bits that two codes of `bits` bits share.
    pub(crate) fn shared_bits(self, other: Split<'_>, bits: usize) -> usize {
        let in_key = (self.key ^ other.key).leading_zeros() as usize;
        let shared = if in_key < KEY_BITS { in_key } else { KEY_BITS + shared_bits(self.rest, other.rest) };
        shared.min(bits)
    }

    /// Whether both share their first `count` bits.
    pub(crate) fn shares(self, other: Split<'_>, count: usize) -> bool {
        if count <= KEY_BITS {
            return (self.key ^ other.key).leading_zeros() as usize >= count;
        }
        self.key == other.key && shared_bits(self.rest, other.rest) >= count - KEY_BITS
    }

    /// The code's bytes.
    pub(crate) fn bytes(self, bits: usize) -> Vec<u8> {
        let first = &self.key.to_be_bytes()[..bits.div_ceil(8).min(KEY_BYTES)];
        [first, self.rest].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_highest_of_the_first_byte() {
        assert_eq!(shared_bits(&[0b1010_0000, 0], &[0b1011_0000, 0]), 3);
        assert_eq!(shared_bits(&[1, 2], &[1, 2]), 16);
        assert_eq!(hamming_distance(&[0xFF; 17], &[0; 17]), 136);
        let split = Split::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 72).expect("nine bytes");
        assert_eq!((split.key, split.rest), (0x0102_0304_0506_0708, &[9][..]));
        assert_eq!(split.bytes(72), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(Split::of(&[0b1110_0000], 3).is_ok());
        for (code, bits) in [(&[0b1111_0000][..], 3), (&[0, 0], 3), (&[], 3), (&[0], 9)] {
            assert_eq!(Split::of(code, bits).expect_err("no such code"), Error::Code { given: code.len(), bits });
        }
    }
}
