//! Elements of EBML (RFC 8794): an id, a length and content.

use std::io::{self, BufReader, ErrorKind, Read};

use super::Error;

/// The most bytes of an element that is read as a whole.
pub(super) const MAX_CONTENT: u64 = 1 << 20;
/// The bytes of a length, and of an id, at most.
const MAX_LENGTH_BYTES: usize = 8;
const MAX_ID_BYTES: usize = 4;

/// An element's id, with its marker as it is written, and the length of its content; `None` if the writer did not know
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: u32,
    pub(super) length: Option<u64>,
}

/// Elements one after another, from an input that need not seek.
#[derive(Debug)]
pub(super) struct Elements<R> {
    input: BufReader<R>,
    /// The bytes that were read.
    at: u64,
}

impl<R: Read> Elements<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), at: 0 }
    }

    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    pub(super) const fn corrupt(&self, why: &'static str) -> Error {
        Error::Corrupt { why, at: self.at }
    }

    /// Reads the head of the next element; `None` if the input ends before it.
    pub(super) fn head(&mut self) -> Result<Option<Head>, Error> {
        let mut first = [0];
        loop {
            match self.input.read(&mut first) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at += 1;
        let bytes = length_bytes(first[0]);
        if bytes > MAX_ID_BYTES {
            return Err(self.corrupt("an element has no id"));
        }
        let mut id = u32::from(first[0]);
        for _ in 1..bytes {
            id = id << 8 | u32::from(self.byte()?);
        }
        Ok(Some(Head { id, length: self.length()? }))
    }

    /// Reads a number of variable length; `None` if all of its bits are ones.
    pub(super) fn length(&mut self) -> Result<Option<u64>, Error> {
        let first = self.byte()?;
        let bytes = length_bytes(first);
        if bytes > MAX_LENGTH_BYTES {
            return Err(self.corrupt("a length has more than 8 bytes"));
        }
        let mut number = u64::from(first) & !(0x80 >> (bytes - 1));
        for _ in 1..bytes {
            number = number << 8 | u64::from(self.byte()?);
        }
        Ok((number != (1 << (7 * bytes)) - 1).then_some(number))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.fill(&mut byte)?;
        Ok(byte[0])
    }

    /// Reads content into memory that is there.
    pub(super) fn fill(&mut self, content: &mut [u8]) -> Result<(), Error> {
        self.input.read_exact(content).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Broken { at: self.at },
            _ => error.into(),
        })?;
        self.at += content.len() as u64;
        Ok(())
    }

    /// Reads the content of an element as a whole, into memory that grows with what comes.
    pub(super) fn content(&mut self, length: u64, content: &mut Vec<u8>) -> Result<(), Error> {
        if length > MAX_CONTENT {
            return Err(self.corrupt("an element is longer than 1 MiB"));
        }
        content.clear();
        let read = self.input.by_ref().take(length).read_to_end(content)? as u64;
        self.pass(read, length)
    }

    /// Reads an unsigned number of up to eight bytes.
    pub(super) fn number(&mut self, length: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        let count = usize::try_from(length).ok().filter(|count| *count <= bytes.len());
        let count = count.ok_or_else(|| self.corrupt("a number has more than 8 bytes"))?;
        self.fill(&mut bytes[8 - count..])?;
        Ok(u64::from_be_bytes(bytes))
    }

    /// Passes over content.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), Error> {
        let read = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
        self.pass(read, length)
    }

    /// Counts bytes that were read, of those that should be there.
    fn pass(&mut self, read: u64, length: u64) -> Result<(), Error> {
        self.at += read;
        if read < length { Err(Error::Broken { at: self.at }) } else { Ok(()) }
    }
}

/// Returns how many bytes a number of variable length has, by its first byte; 9 for one that is none.
fn length_bytes(first: u8) -> usize {
    1 + first.leading_zeros() as usize
}

/// Splits the elements of content that is in memory. The last may be cut short: it is then left out.
pub(super) fn children(content: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut elements = Elements::new(content);
    std::iter::from_fn(move || {
        let Head { id, length } = elements.head().ok()??;
        let from = usize::try_from(elements.at()).ok()?;
        let to = from.checked_add(usize::try_from(length?).ok()?)?;
        let child = content.get(from..to)?;
        elements.skip(length?).ok()?;
        Some((id, child))
    })
}

/// Reads an unsigned number in memory; `None` if it has more than eight bytes.
pub(super) fn number(content: &[u8]) -> Option<u64> {
    (content.len() <= 8).then(|| content.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Reads a floating-point number in memory.
pub(super) fn float(content: &[u8]) -> Option<f64> {
    match content.len() {
        4 => Some(f32::from_be_bytes(content.try_into().ok()?).into()),
        8 => Some(f64::from_be_bytes(content.try_into().ok()?)),
        _ => None,
    }
}

/// Returns text for a message: printable characters, not many.
pub(super) fn text(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
    text.chars().filter(|c| !c.is_control() && *c != char::REPLACEMENT_CHARACTER).collect()
}
