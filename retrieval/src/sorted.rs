//! Codes in the order of their bytes, which is the paper's binary tree laid flat: every neighbourhood is a range of
//! positions.

use std::cmp::Ordering;
use std::ops::Range;

use crate::code::{KEY_BITS, Split};
use crate::format::{Header, Layout, Record};
use crate::keys::Keys;
use crate::names::Names;

/// The sections of an index.
#[derive(Debug, Clone)]
pub(crate) struct Sorted<'a> {
    keys: Keys<'a>,
    rest: &'a [u8],
    rest_bytes: usize,
    pub(crate) names: Names<'a>,
    pub(crate) count: usize,
    pub(crate) bits: usize,
}

impl<'a> Sorted<'a> {
    /// Splits the bytes that [`Header::parse`] checked.
    pub(crate) fn of(bytes: &'a [u8], header: &Header, layout: &Layout) -> Option<Self> {
        Some(Self {
            keys: Keys::new(bytes.get(layout.keys.clone())?, header.count)?,
            rest: bytes.get(layout.rest.clone())?,
            rest_bytes: header.rest_bytes(),
            names: Names::new(bytes.get(layout.name_places.clone())?, bytes.get(layout.names.clone())?),
            count: header.count,
            bits: header.bits,
        })
    }

    pub(crate) fn code(&self, position: usize) -> Split<'a> {
        let start = position * self.rest_bytes;
        Split { key: self.keys.at(position), rest: &self.rest[start..start + self.rest_bytes] }
    }

    /// The entries of a range of positions, each with its position.
    pub(crate) fn records(self, positions: Range<usize>) -> impl Iterator<Item = (usize, Record<'a>)> {
        let names = self.names.from(positions.start);
        positions.zip(names).map(move |(position, name)| (position, (self.code(position), name)))
    }

    /// The first position whose key is not below that of the query.
    pub(crate) fn place_by_key(&self, query: Split<'_>) -> usize {
        self.keys.lower_bound(query.key)
    }

    /// The first position whose code is not below the query, from the place of its key on.
    pub(crate) fn place_behind_key(&self, query: Split<'_>, place: usize) -> usize {
        place + leading(self.count - place, |steps| self.order(place + steps, query) == Ordering::Less)
    }

    fn order(&self, position: usize, query: Split<'_>) -> Ordering {
        match self.keys.at(position).cmp(&query.key) {
            Ordering::Equal => self.code(position).rest.cmp(query.rest),
            other => other,
        }
    }

    /// Whether the code at a position shares its first `bits` bits with the query.
    fn shares(&self, position: usize, query: Split<'_>, bits: usize) -> bool {
        let key = Split { key: self.keys.at(position), rest: &[] };
        // The bytes after the keys are elsewhere in memory, so they are read only where they decide.
        if bits <= KEY_BITS || key.key != query.key {
            return key.shares(Split { key: query.key, rest: &[] }, bits);
        }
        self.code(position).shares(query, bits)
    }

    /// The positions around `place` whose codes share the query's first `bits` bits; at most `most` on each side. Up to
    /// 64 bits the place of the query's key will do; beyond them it must be that of the query.
    pub(crate) fn neighbourhood(&self, query: Split<'_>, place: usize, bits: usize, most: usize) -> Range<usize> {
        let before = leading(place.min(most), |steps| self.shares(place - 1 - steps, query, bits));
        let after = leading((self.count - place).min(most), |steps| self.shares(place + steps, query, bits));
        place - before..place + after
    }

    /// The most leading bits that any code shares with the query; the codes next to its place have them.
    pub(crate) fn most_shared(&self, query: Split<'_>, place: usize) -> usize {
        self.neighbours(place).map(|position| self.code(position).shared_bits(query, self.bits)).max().unwrap_or(0)
    }

    /// The most leading bits that any key shares with that of the query.
    pub(crate) fn most_shared_in_key(&self, query: Split<'_>, place: usize) -> usize {
        let shared =
            self.neighbours(place).map(|position| (self.keys.at(position) ^ query.key).leading_zeros() as usize);
        shared.max().unwrap_or(0)
    }

    /// The positions before and at a place.
    fn neighbours(&self, place: usize) -> Range<usize> {
        place.saturating_sub(1)..(place + 1).min(self.count)
    }
}

/// How many of 0, 1, ... below `count` precede the first for which `holds` is false. It doubles its strides, then
/// halves them, so it finds near ends in few steps.
pub(crate) fn leading(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut known = 0;
    let mut stride = 1;
    while known + stride <= count && holds(known + stride - 1) {
        known += stride;
        stride *= 2;
    }
    let mut end = count.min(known + stride - 1);
    while known < end {
        let middle = known + (end - known) / 2;
        if holds(middle) { known = middle + 1 } else { end = middle }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_ones_are_counted() {
        for count in 0..70 {
            for ones in 0..=count {
                assert_eq!(leading(count, |step| step < ones), ones, "{ones} of {count}");
            }
        }
    }
}
