//! The bytes of an index, as `spec/codes.md` defines them.

use std::fmt;
use std::ops::Range;

use crate::Error;
use crate::code::{KEY_BYTES, Split};
use crate::keys::{self, NODE_KEYS};
use crate::names::{self, NAMES_PER_GROUP, Names, PLACE_BYTES};

/// The first bytes of every index.
pub const MAGIC_BYTES: [u8; 8] = *b"NSTINDEX";
/// Most bits of a code: sixteen times those of the longest code in use.
pub const MAX_BITS: usize = 32_768;

/// The version that this build reads and writes.
const INDEX_VERSION: u16 = 1;
/// Bytes of the header.
const HEADER_BYTES: usize = 64;
/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: u64 = 4;
/// Most entries, and most bytes of all names with their lengths: places of names are 32-bit.
const MAX_COUNT: u64 = u32::MAX as u64;

/// The model that made the codes, by the SHA-256 of its package. Codes of two models have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeModelId(pub [u8; 32]);

/// The first six bytes, in hexadecimal.
impl fmt::Display for CodeModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The header of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) model: CodeModelId,
    pub(crate) bits: usize,
    pub(crate) count: usize,
    name_bytes: usize,
}

/// The place of each section.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) keys: Range<usize>,
    pub(crate) rest: Range<usize>,
    pub(crate) name_places: Range<usize>,
    pub(crate) names: Range<usize>,
}

impl Header {
    /// Reads the header; checks the length and the checksum of all bytes, and where names begin and end.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, Layout), Error> {
        let given = bytes.len() as u64;
        if !bytes.starts_with(&MAGIC_BYTES[..bytes.len().min(MAGIC_BYTES.len())]) || bytes.is_empty() {
            return Err(Error::NotAnIndex);
        }
        let Some((start, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::Truncated { given, needed: HEADER_BYTES as u64 });
        };
        let version = u16::from_le_bytes([start[8], start[9]]);
        if version != INDEX_VERSION {
            return Err(Error::Version { version, known: INDEX_VERSION });
        }
        let header = Self::fields(start)?;
        let (layout, end) = header.layout()?;
        let needed = end as u64 + CHECKSUM_BYTES;
        if given < needed {
            return Err(Error::Truncated { given, needed });
        }
        if given > needed {
            return Err(Error::Corrupt("bytes follow its end"));
        }
        let (body, checksum) = bytes.split_at(end);
        if crc32fast::hash(body).to_le_bytes() != checksum {
            return Err(Error::Corrupt("its checksum is not that of its bytes"));
        }
        if !Names::new(&body[layout.name_places.clone()], &body[layout.names.clone()]).are(header.count) {
            return Err(Error::Corrupt("its names are not as long as it says"));
        }
        Ok((header, layout))
    }

    fn fields(start: &[u8; HEADER_BYTES]) -> Result<Self, Error> {
        let number = |at: usize| start[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let mut model = [0; 32];
        model.copy_from_slice(&start[32..64]);
        if start[12..16] != [0; 4] {
            return Err(Error::Corrupt("a reserved field is not zero"));
        }
        Self::new(CodeModelId(model), u16::from_le_bytes([start[10], start[11]]).into(), number(16), number(24))
    }

    pub(crate) fn new(model: CodeModelId, bits: usize, count: u64, name_bytes: u64) -> Result<Self, Error> {
        let limits = [
            ("bits of a code", bits as u64, MAX_BITS as u64),
            ("entries", count, MAX_COUNT),
            ("bytes of names", name_bytes, MAX_COUNT),
        ];
        if let Some(&(what, given, max)) = limits.iter().find(|(_, given, max)| given > max) {
            return Err(Error::Limit { what, given, max });
        }
        if bits == 0 {
            return Err(Error::Corrupt("its codes have no bits"));
        }
        let length = |value: u64| usize::try_from(value).map_err(|_| too_large(value));
        Ok(Self { model, bits, count: length(count)?, name_bytes: length(name_bytes)? })
    }

    /// Bytes of a code after its key.
    pub(crate) const fn rest_bytes(&self) -> usize {
        self.bits.div_ceil(8).saturating_sub(KEY_BYTES)
    }

    /// The places of the sections, and the end of the last.
    fn layout(&self) -> Result<(Layout, usize), Error> {
        let mut end = HEADER_BYTES;
        let mut section = |elements: usize, bytes: usize| {
            let start = end;
            end = elements.checked_mul(bytes).and_then(|length| start.checked_add(length))?;
            Some(start..end)
        };
        let sections = (
            section(keys::levels(self.count).sum(), KEY_BYTES),
            section(self.count, self.rest_bytes()),
            section(self.count.div_ceil(NAMES_PER_GROUP), PLACE_BYTES),
            section(self.name_bytes, 1),
        );
        match sections {
            (Some(keys), Some(rest), Some(name_places), Some(names)) => {
                Ok((Layout { keys, rest, name_places, names }, end))
            }
            _ => Err(too_large(u64::MAX)),
        }
    }

    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC_BYTES);
        header[8..10].copy_from_slice(&INDEX_VERSION.to_le_bytes());
        header[10..12].copy_from_slice(&self.bits.to_le_bytes()[..2]);
        header[16..24].copy_from_slice(&(self.count as u64).to_le_bytes());
        header[24..32].copy_from_slice(&(self.name_bytes as u64).to_le_bytes());
        header[32..].copy_from_slice(&self.model.0);
        header
    }
}

const fn too_large(given: u64) -> Error {
    Error::Limit { what: "bytes of an index", given, max: usize::MAX as u64 }
}

/// A code and its name, as they are written.
pub(crate) type Record<'a> = (Split<'a>, &'a [u8]);

/// Writes an index of the entries that each call of `entries` gives, in the order of code and name.
///
/// The sections follow each other, so this walks through the entries once for each section and holds none of them.
pub(crate) fn write<'a, I, E>(
    (model, bits): (CodeModelId, usize),
    entries: impl Fn() -> I,
    mut sink: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E>
where
    I: Iterator<Item = Record<'a>>,
    E: From<Error>,
{
    let (count, name_bytes) =
        entries().fold((0_u64, 0_u64), |(count, bytes), (_, name)| (count + 1, bytes + names::size(name)));
    let header = Header::new(model, bits, count, name_bytes)?;
    header.layout()?;
    let mut out = Chunks { sink: &mut sink, chunk: Vec::with_capacity(CHUNK_BYTES), hash: crc32fast::Hasher::new() };
    out.put(&header.bytes())?;
    let mut step = 1;
    for _ in keys::levels(header.count) {
        entries().step_by(step).try_for_each(|(code, _)| out.put(&code.key.to_le_bytes()))?;
        step = step.saturating_mul(NODE_KEYS);
    }
    entries().try_for_each(|(code, _)| out.put(code.rest))?;
    let mut place = 0_u32;
    entries().enumerate().try_for_each(|(number, (_, name))| {
        let begins = place;
        place = place.wrapping_add(u32::try_from(names::size(name)).unwrap_or(u32::MAX)); // within MAX_COUNT, as was checked
        if number % NAMES_PER_GROUP == 0 { out.put(&begins.to_le_bytes()) } else { Ok(()) }
    })?;
    entries().try_for_each(|(_, name)| {
        names::length(name).try_for_each(|digit| out.put(&[digit]))?;
        out.put(name)
    })?;
    out.finish()
}

/// Bytes handed over at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Gathers small writes, and their checksum.
struct Chunks<'a, S> {
    sink: &'a mut S,
    chunk: Vec<u8>,
    hash: crc32fast::Hasher,
}

impl<S: FnMut(&[u8]) -> Result<(), E>, E> Chunks<'_, S> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.chunk.len() + bytes.len() > CHUNK_BYTES {
            self.flush()?;
        }
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), E> {
        self.hash.update(&self.chunk);
        (self.sink)(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), E> {
        self.flush()?;
        (self.sink)(&self.hash.finalize().to_le_bytes())
    }
}
