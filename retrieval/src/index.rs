//! The index: sorted codes as bytes, with the entries that were inserted and removed since.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use crate::code::{KEY_BITS, Split};
use crate::format::{self, CodeModelId, Header, Layout, Record};
use crate::neighbourhood::{Entry, Neighbourhood};
use crate::sorted::{Sorted, leading};
use crate::{Error, shared_bits};

/// Codes of one model and their names, searched by leading bits.
///
/// `B` holds its bytes. Insertions and removals are kept apart from them: each takes time logarithmic in the index and
/// slows searches a little. [`Index::write`] writes the bytes of an index that includes them.
#[derive(Debug, Clone)]
pub struct Index<B = Vec<u8>> {
    bytes: B,
    header: Header,
    layout: Layout,
    /// By code and name.
    added: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// Positions in the bytes.
    removed: BTreeSet<usize>,
}

impl<B: AsRef<[u8]>> Index<B> {
    /// Opens the bytes of an index. It reads all of them once, for their checksum.
    ///
    /// # Errors
    /// [`Error`] names the fault of the bytes.
    pub fn open(bytes: B) -> Result<Self, Error> {
        let (header, layout) = Header::parse(bytes.as_ref())?;
        Ok(Self { bytes, header, layout, added: BTreeSet::new(), removed: BTreeSet::new() })
    }

    /// The model of the codes.
    pub const fn model(&self) -> CodeModelId {
        self.header.model
    }

    /// Bits of a code.
    pub const fn bits(&self) -> usize {
        self.header.bits
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.header.count - self.removed.len() + self.added.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ordered retrieval: the neighbourhood N_(b-1) of the query for the first b at which |N_b| < `terminal`, and N_K
    /// if there is none among the codes' K bits. N_0 is the whole index.
    ///
    /// # Errors
    /// [`Error::Code`] for a query of another length.
    pub fn neighbourhood<'a>(&'a self, query: &'a [u8], terminal: NonZeroUsize) -> Result<Neighbourhood<'a>, Error> {
        let split = Split::of(query, self.bits())?;
        let sorted = self.sorted();
        // Removed entries may hide up to this many of the nearest.
        let most = terminal.get().saturating_add(self.removed.len());
        let holds = |place: usize, depth: usize| {
            let positions = sorted.neighbourhood(split, place, depth, most);
            let live = positions.len() - self.removed.range(positions).count();
            let missing = terminal.get().saturating_sub(live);
            self.added_within(query, depth).take(missing).count() == missing
        };
        let mut place = sorted.place_by_key(split);
        // The bytes after the keys are read only if at least R entries share a whole key, so the time does not grow
        // with the length of the codes.
        let depth = if self.bits() > KEY_BITS && holds(place, KEY_BITS) {
            place = sorted.place_behind_key(split, place);
            let most_shared = self.most_shared(query, sorted.most_shared(split, place));
            deepest(KEY_BITS, most_shared, |depth| holds(place, depth))
        } else {
            let most_shared = self.most_shared(query, sorted.most_shared_in_key(split, place));
            deepest(0, most_shared.min(KEY_BITS).min(self.bits()), |depth| holds(place, depth))
        };
        let positions = sorted.neighbourhood(split, place, depth, usize::MAX);
        let added = self.added_within(query, depth).collect();
        Ok(Neighbourhood { query, depth, sorted, removed: &self.removed, positions, added })
    }

    /// Adds an entry; returns whether it is new.
    ///
    /// # Errors
    /// [`Error::Code`] for a code of another length.
    pub fn insert(&mut self, code: &[u8], name: &[u8]) -> Result<bool, Error> {
        match self.position(code, name)? {
            Some(position) => Ok(self.removed.remove(&position)),
            None => Ok(self.added.insert((code.to_vec(), name.to_vec()))),
        }
    }

    /// Removes an entry; returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Code`] for a code of another length.
    pub fn remove(&mut self, code: &[u8], name: &[u8]) -> Result<bool, Error> {
        match self.position(code, name)? {
            Some(position) => Ok(self.removed.insert(position)),
            None => Ok(self.added.remove(&(code.to_vec(), name.to_vec()))),
        }
    }

    /// Writes an index of all entries, piece by piece.
    ///
    /// # Errors
    /// Those of `sink`, and [`Error::Limit`] for more than an index may hold.
    pub fn write<E: From<Error>>(&self, sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        format::write((self.model(), self.bits()), || self.records(), sink)
    }

    /// All entries, in the order of their codes.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.records().map(|(code, name)| Entry { code: code.bytes(self.bits()), name })
    }

    fn sorted(&self) -> Sorted<'_> {
        Sorted::of(self.bytes.as_ref(), &self.header, &self.layout).expect("`open` checked the length")
    }

    /// The position of an entry in the bytes, removed or not.
    fn position(&self, code: &[u8], name: &[u8]) -> Result<Option<usize>, Error> {
        let split = Split::of(code, self.bits())?;
        let sorted = self.sorted();
        let place = sorted.place_behind_key(split, sorted.place_by_key(split));
        let same = sorted.neighbourhood(split, place, self.bits(), usize::MAX);
        let position = same.start + leading(same.len(), |steps| sorted.names.at(same.start + steps) < name);
        Ok(Some(position).filter(|position| same.contains(position) && sorted.names.at(*position) == name))
    }

    /// Entries that were added and share the query's first `depth` bits, in the order of their codes.
    fn added_within<'a>(&'a self, query: &'a [u8], depth: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        // Nothing is copied where nothing was added.
        let first = if self.added.is_empty() { Vec::new() } else { truncated(query, depth) };
        let after = self.added.range((first, Vec::new())..).map(|(code, name)| (&code[..], &name[..]));
        after.take_while(move |(code, _)| shared_bits(code, query) >= depth)
    }

    /// The most leading bits that any entry shares with the query, if not fewer than `in_bytes`.
    fn most_shared(&self, query: &[u8], in_bytes: usize) -> usize {
        if self.added.is_empty() {
            return in_bytes;
        }
        let place = (query.to_vec(), Vec::new());
        let neighbours = [self.added.range(..&place).next_back(), self.added.range(&place..).next()];
        let shared = neighbours.into_iter().flatten().map(|(code, _)| shared_bits(code, query).min(self.bits()));
        shared.fold(in_bytes, usize::max)
    }

    /// The entries of the bytes that were not removed, merged with those that were added.
    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let kept = self.sorted().records(0..self.header.count).filter(|(position, _)| !self.removed.contains(position));
        let mut kept = kept.map(|(_, record)| record).peekable();
        let split = |code| Split::of(code, self.bits()).expect("`insert` checked the code");
        let mut added = self.added.iter().map(move |(code, name)| (split(code), &name[..])).peekable();
        let order = |(code, name): Record<'_>| (code.key, code.rest.to_vec(), name.to_vec());
        std::iter::from_fn(move || match (kept.peek(), added.peek()) {
            (Some(&one), Some(&other)) if order(one) > order(other) => added.next(),
            (Some(_), _) => kept.next(),
            (None, _) => added.next(),
        })
    }
}

/// A code with zeros after its first `bits` bits.
fn truncated(code: &[u8], bits: usize) -> Vec<u8> {
    let mut code = code.to_vec();
    code.iter_mut().skip(bits.div_ceil(8)).for_each(|byte| *byte = 0);
    if let (Some(last), used @ 1..) = (code.get_mut(bits / 8), bits % 8) {
        *last &= u8::MAX << (8 - used);
    }
    code
}

/// The deepest of `least` to `most` for which `holds` is true, where it is true for all before it too; `least` if for
/// none.
fn deepest(least: usize, most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut known = least;
    let mut end = most;
    while known < end {
        let middle = end - (end - known) / 2;
        if holds(middle) { known = middle } else { end = middle - 1 }
    }
    known
}
