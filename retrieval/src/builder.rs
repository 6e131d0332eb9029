//! An index of many codes at once.

use crate::code::{KEY_BYTES, Split};
use crate::format::{self, CodeModelId, Header, Record};
use crate::{Error, Index};

/// Gathers codes and their names, in any order; the index holds each pair once, even if it was pushed several times.
#[derive(Debug, Clone)]
pub struct Builder {
    model: CodeModelId,
    bits: usize,
    rest_bytes: usize,
    /// Each entry's key and number.
    keys: Vec<(u64, u32)>,
    /// By number: the code's bytes after the key, and the end of its name.
    rest: Vec<u8>,
    name_ends: Vec<u32>,
    names: Vec<u8>,
}

impl Builder {
    /// A builder for codes of `bits` bits, 1 to [`MAX_BITS`](crate::MAX_BITS), of one model.
    ///
    /// # Errors
    /// [`Error`] for another number of bits.
    pub fn new(model: CodeModelId, bits: usize) -> Result<Self, Error> {
        let rest_bytes = Header::new(model, bits, 0, 0)?.rest_bytes();
        let (keys, rest, name_ends, names) = Default::default();
        Ok(Self { model, bits, rest_bytes, keys, rest, name_ends, names })
    }

    /// Adds a code, bit 0 the highest of its first byte, and a name of any bytes.
    ///
    /// # Errors
    /// [`Error::Code`] for another length, [`Error::Limit`] for more than an index may hold.
    pub fn push(&mut self, code: &[u8], name: &[u8]) -> Result<(), Error> {
        let Split { key, rest } = Split::of(code, self.bits)?;
        let given = (self.names.len() + name.len()) as u64;
        let max = u64::from(u32::MAX);
        let end = u32::try_from(given).map_err(|_| Error::Limit { what: "bytes of names", given, max })?;
        let number = u32::try_from(self.keys.len());
        let number = number.map_err(|_| Error::Limit { what: "entries", given: self.keys.len() as u64, max })?;
        self.keys.push((key, number));
        self.rest.extend_from_slice(rest);
        self.name_ends.push(end);
        self.names.extend_from_slice(name);
        Ok(())
    }

    /// Writes the index, piece by piece.
    ///
    /// # Errors
    /// Those of `sink`, and [`Error::Limit`].
    pub fn write<E: From<Error>>(mut self, sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.behind_key(*a).cmp(&self.behind_key(*b))));
        keys.dedup_by(|a, b| a.0 == b.0 && self.behind_key(*a) == self.behind_key(*b));
        let entry = |&(key, number): &(u64, u32)| -> Record<'_> {
            let (rest, name) = self.behind_key((key, number));
            (Split { key, rest }, name)
        };
        format::write((self.model, self.bits), || keys.iter().map(entry), sink)
    }

    /// The index in memory.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn to_bytes(self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(self.keys.len() * (KEY_BYTES + self.rest_bytes + 2) + self.names.len());
        self.write(|piece| {
            bytes.extend_from_slice(piece);
            Ok::<_, Error>(())
        })?;
        Ok(bytes)
    }

    /// An entry's bytes after its key, and its name.
    fn behind_key(&self, (_, number): (u64, u32)) -> (&[u8], &[u8]) {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.name_ends[before] as usize);
        let rest = &self.rest[number * self.rest_bytes..][..self.rest_bytes];
        (rest, &self.names[start..self.name_ends[number] as usize])
    }
}

impl Index<Vec<u8>> {
    /// An index without entries.
    ///
    /// # Errors
    /// As [`Builder::new`].
    pub fn empty(model: CodeModelId, bits: usize) -> Result<Self, Error> {
        Self::open(Builder::new(model, bits)?.to_bytes()?)
    }
}
