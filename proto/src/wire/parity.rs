//! Parity of a frame's stream: restores a lost packet's bytes from the rest, without a round trip (spec, "Parity").

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::limits::{MAX_FRAME, MAX_HEAD_BYTES, MAX_PARITY_BLOCK, MAX_PIECES};
use crate::wire::varint::{Reader, put_varint};

/// The header of parity, which precedes it on its stream.
///
/// The protected stream is cut into pieces of equal length (the last may be shorter), and each piece into blocks. The
/// parity of a piece is the exclusive or of its blocks. A packet carries at most one block's bytes of the stream. So
/// its bytes meet each byte of the parity at most once, wherever they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityHeader {
    /// The transport's number of the protected stream.
    pub stream: u64,
    /// The length of that stream in bytes, including its head; at least 1.
    pub length: u64,
    /// The number of pieces, 1 to 16.
    pub pieces: u64,
    /// Bytes of a block, 1 to 4096.
    pub block: u64,
}

impl ParityHeader {
    pub(crate) fn write(&self, out: &mut BytesMut) {
        for number in [self.stream, self.length, self.pieces, self.block] {
            put_varint(out, number);
        }
    }

    /// Reads a header; `None` while it is incomplete.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        let mut number = || reader.varint();
        let (Some(stream), Some(length), Some(pieces), Some(block)) = (number(), number(), number(), number()) else {
            return Ok(None);
        };
        if !(1..=MAX_FRAME + MAX_HEAD_BYTES as u64).contains(&length) {
            return Err(Close::violation("parity protects a stream that is empty or too long"));
        }
        if !(1..=MAX_PIECES).contains(&pieces) || !(1..=MAX_PARITY_BLOCK).contains(&block) {
            return Err(Close::violation("parity has too many pieces or too long blocks"));
        }
        Ok(Some(Self { stream, length, pieces, block }))
    }

    /// Returns the bytes of parity that follow: for each piece a block, or the piece's length if that is less.
    #[must_use]
    pub fn parity_bytes(&self) -> usize {
        self.ranges().map(|(_, parity)| parity.len()).sum()
    }

    /// Returns for each piece the range of the stream, and the range of its parity.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let [length, pieces, block] =
            [self.length, self.pieces, self.block].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let piece = length.div_ceil(pieces);
        let mut parity = 0;
        (0..length).step_by(piece.max(1)).map(move |start| {
            let bytes = start..length.min(start + piece);
            let begins = parity;
            parity += bytes.len().min(block);
            (bytes, begins..parity)
        })
    }

    /// Appends the parity of a stream that is the concatenation of `chunks`.
    pub(crate) fn protect(&self, chunks: &[Bytes], out: &mut BytesMut) {
        let begin = out.len();
        out.resize(begin + self.parity_bytes(), 0);
        let out = &mut out[begin..];
        for (bytes, parity) in self.ranges() {
            let mut start = 0;
            for chunk in chunks {
                let within = bytes.start.max(start)..bytes.end.min(start + chunk.len());
                if !within.is_empty() {
                    let column = (within.start - bytes.start) % parity.len();
                    combine(&mut out[parity.clone()], column, &chunk[within.start - start..within.end - start]);
                }
                start += chunk.len();
            }
        }
    }
}

/// Adds bytes to a parity, beginning at its byte `column`.
pub(crate) fn combine(parity: &mut [u8], column: usize, bytes: &[u8]) {
    let (first, rest) = bytes.split_at(bytes.len().min(parity.len() - column));
    let add = |parity: &mut [u8], block: &[u8]| parity.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
    add(&mut parity[column..], first);
    rest.chunks(parity.len()).for_each(|block| add(parity, block));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_outside_its_limits_is_refused() {
        let header = ParityHeader { stream: 3, length: 4001, pieces: 1, block: 1 };
        for header in [
            ParityHeader { length: 0, ..header },
            ParityHeader { length: MAX_FRAME + 65, ..header },
            ParityHeader { pieces: 0, ..header },
            ParityHeader { pieces: 17, ..header },
            ParityHeader { block: 0, ..header },
            ParityHeader { block: 4097, ..header },
        ] {
            let mut out = BytesMut::new();
            header.write(&mut out);
            assert!(ParityHeader::read(&mut Reader::new(&out)).is_err(), "{header:?}");
        }
    }
}
