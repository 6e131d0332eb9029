//! Repair: computes the bytes of lost packets from the rest of a stream and its parity (spec, "Parity").

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::parity::{ParityHeader, combine};

/// The most gaps tracked in a stream whose parity came: packets that one frame lost.
const MAX_HOLES: usize = 1024;

/// An incomplete stream whose parity came.
#[derive(Debug)]
pub struct Repair {
    header: ParityHeader,
    parity: Bytes,
    /// The whole stream, with zeros where bytes are missing.
    bytes: BytesMut,
    /// The missing ranges, in order.
    holes: Vec<Range<usize>>,
    /// Bytes returned so far.
    given: usize,
}

impl Repair {
    /// Begins the repair of a stream of which `begin` was already read. Returns `None` if that is longer than the
    /// header says, or if `parity` does not have [`ParityHeader::parity_bytes`] bytes.
    #[must_use]
    pub fn new(header: ParityHeader, parity: Bytes, mut begin: BytesMut) -> Option<Self> {
        let given = begin.len();
        let length = usize::try_from(header.length).ok()?;
        if given > length || parity.len() != header.parity_bytes() {
            return None;
        }
        begin.resize(length, 0);
        let holes = std::iter::once(given..length).filter(|hole| !hole.is_empty()).collect();
        Some(Self { header, parity, bytes: begin, holes, given })
    }

    /// Adds bytes of the stream that begin at `offset`.
    ///
    /// It ignores bytes that would leave more than 1024 gaps.
    ///
    /// # Errors
    /// If they go past the stream's end.
    pub fn handle_bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Close> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes.len());
        if end > self.bytes.len() {
            return Err(Close::violation("a stream is longer than its parity says"));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let at = self.holes.partition_point(|hole| hole.end <= start);
        let until = self.holes.partition_point(|hole| hole.start < end);
        let met = &self.holes[at..until];
        let left = met.first().map(|hole| hole.start..start).filter(|hole| !hole.is_empty());
        let right = met.last().map(|hole| end..hole.end).filter(|hole| !hole.is_empty());
        if left.is_some() && right.is_some() && self.holes.len() >= MAX_HOLES {
            return Ok(());
        }
        // Bytes already returned stay as they are, whatever comes again.
        let from = start.max(self.given);
        if from < end {
            self.bytes[from..end].copy_from_slice(&bytes[from - start..]);
        }
        self.holes.splice(at..until, left.into_iter().chain(right));
        Ok(())
    }

    /// Returns the next bytes in order, including those computed from the parity; `None` until more come, or at the
    /// end.
    pub fn poll(&mut self) -> Option<Bytes> {
        self.repair();
        let until = self.holes.first().map_or(self.bytes.len(), |hole| hole.start);
        let next = self.given..until;
        self.given = until;
        (!next.is_empty()).then(|| Bytes::copy_from_slice(&self.bytes[next]))
    }

    /// Returns whether all of the stream was returned.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.given == self.bytes.len()
    }

    /// Fills the gaps of each piece in which they meet no parity byte twice.
    fn repair(&mut self) {
        for (piece, parity) in self.header.ranges() {
            let within = |hole: &Range<usize>| hole.start.max(piece.start)..hole.end.min(piece.end);
            let holes: Vec<_> = self.holes.iter().map(within).filter(|hole| !hole.is_empty()).collect();
            let missing: usize = holes.iter().map(Range::len).sum();
            if missing == 0 || missing > parity.len() {
                continue;
            }
            let mut met = vec![false; parity.len()];
            let mut columns = holes.iter().cloned().flatten().map(|at| (at - piece.start) % parity.len());
            if columns.any(|column| std::mem::replace(&mut met[column], true)) {
                continue;
            }
            let mut sum = self.parity[parity.clone()].to_vec();
            combine(&mut sum, 0, &self.bytes[piece.clone()]);
            for at in holes.into_iter().flatten() {
                self.bytes[at] = sum[(at - piece.start) % parity.len()];
            }
            let outside = |hole: Range<usize>| {
                let start = hole.start;
                let end = hole.end;
                [start..end.min(piece.start), start.max(piece.end)..end]
            };
            self.holes = self.holes.drain(..).flat_map(outside).filter(|hole| !hole.is_empty()).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a stream, protected in two chunks, and its parity.
    fn protected(length: u64, pieces: u64, block: u64) -> (Vec<u8>, ParityHeader, Bytes) {
        let bytes: Vec<u8> = (0..length).map(|at| (at * at % 251) as u8).collect();
        let header = ParityHeader { stream: 3, length, pieces, block };
        let (head, body) = bytes.split_at(bytes.len() / 7);
        let mut parity = BytesMut::new();
        header.protect(&[Bytes::copy_from_slice(head), Bytes::copy_from_slice(body)], &mut parity);
        (bytes, header, parity.freeze())
    }

    fn given(repair: &mut Repair) -> Vec<u8> {
        std::iter::from_fn(|| repair.poll()).flatten().collect()
    }

    proptest! {
        #[test]
        fn any_hole_of_a_block_in_each_piece_is_filled(
            length in 1..5000_u64, pieces in 1..=5_u64, block in 1..=1500_u64, begin in 0..5000_usize, place in any::<u64>(),
        ) {
            let (bytes, header, parity) = protected(length, pieces, block);
            prop_assert_eq!(parity.len(), header.parity_bytes());
            let begin = begin.min(bytes.len());
            let mut repair = Repair::new(header, parity, BytesMut::from(&bytes[..begin])).expect("it is no longer");
            // In each piece a gap of one block, or of the whole piece if that is shorter, anywhere after what was read.
            let mut holes: Vec<Range<usize>> = Vec::new();
            for (piece, parity) in header.ranges() {
                let start = piece.start + usize::try_from(place % piece.len() as u64).expect("small");
                holes.push(start..piece.end.min(start + parity.len()));
            }
            for at in begin..bytes.len() {
                if !holes.iter().any(|hole| hole.contains(&at)) {
                    repair.handle_bytes(at as u64, &bytes[at..=at]).expect("within");
                }
            }
            prop_assert_eq!(given(&mut repair), &bytes[begin..]);
            prop_assert!(repair.is_whole());
        }

        #[test]
        fn any_parts_in_any_order_give_nothing_but_the_stream(
            pieces in 1..=3_u64, parts in proptest::collection::vec((0..900_usize, 0..400_usize), 0..30),
        ) {
            let (bytes, header, parity) = protected(1000, pieces, 100);
            let mut repair = Repair::new(header, parity, BytesMut::new()).expect("it is no longer");
            let mut came = Vec::new();
            for (start, length) in parts {
                let part = &bytes[start..(start + length).min(1000)];
                repair.handle_bytes(start as u64, part).expect("within");
                came.extend(given(&mut repair));
                prop_assert_eq!(&came[..], &bytes[..came.len()]);
            }
            repair.handle_bytes(0, &bytes).expect("within");
            came.extend(given(&mut repair));
            prop_assert_eq!(came, bytes);
        }
    }

    #[test]
    fn two_holes_in_one_column_wait_for_one_of_them() {
        let (bytes, header, parity) = protected(1000, 1, 100);
        let mut repair = Repair::new(header, parity, BytesMut::from(&bytes[..50])).expect("it is no longer");
        repair.handle_bytes(100, &bytes[100..350]).expect("within");
        repair.handle_bytes(360, &bytes[360..]).expect("within");
        assert!(given(&mut repair).is_empty(), "bytes 50 to 100 and 350 to 360 meet the parity's bytes 50 to 60 both");
        repair.handle_bytes(350, &bytes[350..360]).expect("within");
        assert_eq!(given(&mut repair), &bytes[50..]);
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let (bytes, header, parity) = protected(1000, 1, 100);
        assert!(Repair::new(header, parity.clone(), BytesMut::zeroed(1001)).is_none(), "longer than it says");
        assert!(Repair::new(header, parity.slice(1..), BytesMut::new()).is_none(), "too little parity");
        let mut repair = Repair::new(header, parity, BytesMut::new()).expect("it is no longer");
        assert!(repair.handle_bytes(999, &bytes[..2]).is_err());
        assert!(repair.handle_bytes(u64::MAX, &bytes[..2]).is_err());
        let (bytes, header, parity) = protected(4001, 1, 1);
        let mut repair = Repair::new(header, parity, BytesMut::new()).expect("it is no longer");
        for part in 0..2000 {
            repair.handle_bytes(2 * part + 1, &bytes[..1]).expect("within");
        }
        assert_eq!(repair.holes.len(), MAX_HOLES, "bytes that come one by one");
    }
}
