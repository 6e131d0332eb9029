//! The common form of HTTP/3 frames (RFC 9114, section 7.1) and capsules (RFC 9297, section 3.2): a kind, a length, and
//! that many bytes.

use bytes::{Buf as _, Bytes, BytesMut};
use quinn_proto::VarInt;
use quinn_proto::coding::Codec as _;

use crate::h3::error::H3Error;

/// The most bytes of a record that is held until it is complete. A browser's settings or request need fewer.
const MAX_HELD_BYTES: u64 = 8 * 1024;

/// A record, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A complete record of one of the kinds that are held.
    Whole { kind: u64, payload: Bytes },
    /// The next bytes of a record of another kind; empty when it begins.
    Part { kind: u64, payload: Bytes },
}

/// Splits a stream into records.
#[derive(Debug)]
pub(crate) struct Records {
    held_kinds: &'static [u64],
    held: BytesMut,
    /// The kind of the record that passes in parts, and the number of its bytes that are missing.
    passing: (u64, u64),
}

impl Records {
    /// Returns records of `held_kinds` whole, and others in parts.
    pub(crate) fn new(held_kinds: &'static [u64]) -> Self {
        Self { held_kinds, held: BytesMut::new(), passing: (0, 0) }
    }

    /// Adds the stream's next bytes, in order.
    pub(crate) fn handle_bytes(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Returns whether the stream may end here.
    pub(crate) fn is_between(&self) -> bool {
        self.held.is_empty() && self.passing.1 == 0
    }

    /// Returns the next record or part; `None` until more bytes arrive.
    pub(crate) fn poll(&mut self) -> Result<Option<Record>, H3Error> {
        let (kind, left) = self.passing;
        if left > 0 {
            return Ok(self.part(kind, left));
        }
        let mut rest = &self.held[..];
        let (Ok(kind), Ok(length)) = (VarInt::decode(&mut rest), VarInt::decode(&mut rest)) else { return Ok(None) };
        let (kind, length) = (kind.into_inner(), length.into_inner());
        let head = self.held.len() - rest.len();
        if !self.held_kinds.contains(&kind) {
            self.held.advance(head);
            self.passing = (kind, length);
            return Ok(Some(Record::Part { kind, payload: Bytes::new() }));
        }
        if length > MAX_HELD_BYTES {
            return Err(H3Error::excessive_load("a frame is too long"));
        }
        let Some(payload) = usize::try_from(length).ok().filter(|length| *length <= rest.len()) else {
            return Ok(None);
        };
        self.held.advance(head);
        Ok(Some(Record::Whole { kind, payload: self.held.split_to(payload).freeze() }))
    }

    fn part(&mut self, kind: u64, left: u64) -> Option<Record> {
        if self.held.is_empty() {
            return None;
        }
        let count = usize::try_from(left).map_or(self.held.len(), |left| left.min(self.held.len()));
        self.passing = (kind, left - count as u64);
        Some(Record::Part { kind, payload: self.held.split_to(count).freeze() })
    }
}

/// Appends a record.
pub(crate) fn put_record(out: &mut BytesMut, kind: u64, payload: &[u8]) {
    put_varint(out, kind);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// Appends an integer of at most 62 bits. Writes a larger one as the largest.
pub(crate) fn put_varint(out: &mut BytesMut, value: u64) {
    VarInt::try_from(value).unwrap_or(VarInt::MAX).encode(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(records: &mut Records) -> Vec<Record> {
        std::iter::from_fn(|| records.poll().expect("no error")).collect()
    }

    #[test]
    fn records_are_the_same_however_their_bytes_come() {
        let mut bytes = BytesMut::new();
        put_record(&mut bytes, 4, b"held");
        put_record(&mut bytes, 0x1F * 9 + 0x21, &[7; 100]);
        put_record(&mut bytes, 4, b"");
        let mut records = Records::new(&[4]);
        let mut wholes = Vec::new();
        let mut passed = 0;
        for byte in &bytes {
            records.handle_bytes(&[*byte]);
            for record in all(&mut records) {
                match record {
                    Record::Whole { payload, .. } => wholes.push(payload),
                    Record::Part { payload, .. } => passed += payload.len(),
                }
            }
        }
        assert_eq!(wholes, [&b"held"[..], b""]);
        assert!(passed == 100 && records.is_between());
        records.handle_bytes(&[4]);
        assert!(all(&mut records).is_empty() && !records.is_between());
    }

    #[test]
    fn a_record_that_is_held_is_refused_by_its_length() {
        let mut records = Records::new(&[4]);
        let mut head = BytesMut::from(&[4][..]);
        VarInt::try_from(MAX_HELD_BYTES + 1).expect("an integer").encode(&mut head);
        records.handle_bytes(&head);
        assert_eq!(records.poll(), Err(H3Error::excessive_load("a frame is too long")));
    }

    #[test]
    fn a_record_that_passes_is_not_held() {
        let mut records = Records::new(&[4]);
        records.handle_bytes(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        for _ in 0..1000 {
            records.handle_bytes(&[0; 1200]);
            all(&mut records);
            assert!(records.held.is_empty());
        }
    }
}
