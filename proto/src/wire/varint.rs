//! Integers and byte strings on the wire (spec, "Conventions"): QUIC's variable-length integers, RFC 9000, section 16.

use bytes::{BufMut as _, BytesMut};

/// The largest integer on the wire.
pub(crate) const MAX_VARINT: u64 = (1 << 62) - 1;

/// Appends an integer of at most 62 bits in its shortest form; writes the largest for a larger one.
pub fn put_varint(out: &mut BytesMut, value: u64) {
    let value = value.min(MAX_VARINT);
    let bytes = value.to_be_bytes();
    match value {
        0..0x40 => out.put_u8(bytes[7]),
        0x40..0x4000 => out.put_slice(&[bytes[6] | 0x40, bytes[7]]),
        0x4000..0x4000_0000 => out.put_slice(&[bytes[4] | 0x80, bytes[5], bytes[6], bytes[7]]),
        _ => {
            out.put_u8(bytes[0] | 0xC0);
            out.put_slice(&bytes[1..]);
        }
    }
}

/// Appends a length and the bytes.
pub fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.put_slice(bytes);
}

/// Reads from the front of a slice; every read returns `None` if the slice ends first.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of bytes left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Returns an integer of 1, 2, 4 or 8 bytes.
    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let bytes = self.take(1 << (first >> 6))?;
        let top = u64::from(first & 0x3F);
        Some(bytes[1..].iter().fold(top, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Returns the bytes after their length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_are_those_of_rfc_9000_appendix_a() {
        for (value, bytes) in [
            (37, &[0x25][..]),
            (15_293, &[0x7B, 0xBD]),
            (494_878_333, &[0x9D, 0x7F, 0x3E, 0x7D]),
            (151_288_809_941_952_652, &[0xC2, 0x19, 0x7C, 0x5E, 0xFF, 0x14, 0xE8, 0x8C]),
        ] {
            let mut out = BytesMut::new();
            put_varint(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(Reader::new(bytes).varint(), Some(value));
        }
    }

    proptest! {
        #[test]
        fn integers_round_trip_and_need_all_their_bytes(value in 0..=MAX_VARINT) {
            let mut out = BytesMut::new();
            put_varint(&mut out, value);
            prop_assert_eq!(Reader::new(&out).varint(), Some(value));
            for cut in 0..out.len() {
                prop_assert_eq!(Reader::new(&out[..cut]).varint(), None);
            }
        }
    }
}
