//! The result of a search: the entries that share the query's first bits.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::sorted::Sorted;
use crate::{hamming_distance, shared_bits};

/// A b-truncated Hamming neighbourhood (Equation 15): all entries whose codes share the first b bits of a query.
#[derive(Debug, Clone)]
pub struct Neighbourhood<'a> {
    pub(crate) query: &'a [u8],
    pub(crate) depth: usize,
    pub(crate) sorted: Sorted<'a>,
    pub(crate) removed: &'a BTreeSet<usize>,
    pub(crate) positions: Range<usize>,
    pub(crate) added: Vec<(&'a [u8], &'a [u8])>,
}

/// A code and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The code's bytes.
    pub code: Vec<u8>,
    /// Its name.
    pub name: &'a [u8],
}

impl<'a> Neighbourhood<'a> {
    /// b: the number of leading bits that all entries share with the query.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len() - self.removed.range(self.positions.clone()).count() + self.added.len()
    }

    /// Whether there are no entries: the index is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries: those of the index's bytes in the order of their codes, then those that were inserted.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'a>> {
        let records = self.sorted.clone().records(self.positions.clone());
        let kept = records.filter(|(position, _)| !self.removed.contains(position));
        let kept = kept.map(|(_, (code, name))| Entry { code: code.bytes(self.sorted.bits), name });
        kept.chain(self.added.iter().map(|&(code, name)| Entry { code: code.to_vec(), name }))
    }

    /// The first `count` entries by the Hamming distance of whole codes to the query, then by the leading bits that
    /// they share with it, then by name. The neighbourhood chooses few of many by leading bits; among these few, all
    /// bits tell more.
    #[must_use]
    pub fn nearest(&self, count: usize) -> Vec<Entry<'a>> {
        let rank = |entry: &Entry<'a>| {
            (hamming_distance(&entry.code, self.query), Reverse(shared_bits(&entry.code, self.query)), entry.name)
        };
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_by_cached_key(rank);
        entries.truncate(count);
        entries
    }
}
