//! An input whose beginning you can read before you know its kind.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use crate::Kind;

/// An input that reads no further than you ask, because it may have no end.
#[derive(Debug)]
pub struct PeekedInput<R> {
    reader: R,
    bytes: Vec<u8>,
}

impl<R: Read> PeekedInput<R> {
    /// Wraps an input and reads nothing yet.
    #[must_use]
    pub const fn new(reader: R) -> Self {
        Self { reader, bytes: Vec::new() }
    }

    /// Returns the wrapped input.
    #[must_use]
    pub const fn reader(&self) -> &R {
        &self.reader
    }

    /// Reads until there are `count` bytes in all, or the input ends. Returns all of them.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_to(&mut self, count: u64) -> io::Result<&[u8]> {
        let more = count.saturating_sub(self.bytes.len() as u64);
        self.reader.by_ref().take(more).read_to_end(&mut self.bytes)?;
        Ok(&self.bytes)
    }

    /// Recognises the input by its first bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn kind(&mut self) -> io::Result<Kind> {
        Ok(Kind::of(self.read_to(Kind::NEEDED_BYTES as u64)?))
    }

    /// Returns all bytes that were read.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the whole input from its beginning, with the bytes that were read so far.
    #[must_use]
    pub fn into_reader(self) -> Replayed<R> {
        Replayed { start: Cursor::new(self.bytes), reader: self.reader }
    }
}

/// An input whose beginning was read before. It can seek if the wrapped input can.
#[derive(Debug)]
pub struct Replayed<R> {
    start: Cursor<Vec<u8>>,
    reader: R,
}

impl<R: Read> Read for Replayed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.start.read(bytes)?;
        if count > 0 { Ok(count) } else { self.reader.read(bytes) }
    }
}

impl<R: Seek> Seek for Replayed<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let left = self.start.get_ref().len() as u64 - self.start.position();
        let at = match to {
            SeekFrom::Current(by) => {
                let here = self.reader.stream_position()?.saturating_sub(left);
                self.reader.seek(SeekFrom::Start(here.saturating_add_signed(by)))?
            }
            to => self.reader.seek(to)?,
        };
        self.start = Cursor::new(Vec::new());
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_asked_for() {
        let mut source = PeekedInput::new(io::repeat(0));
        for (count, length) in [(16, 16), (7, 16), (1000, 1000)] {
            assert_eq!(source.read_to(count).expect("readable").len(), length);
        }
        assert_eq!(source.into_bytes(), [0; 1000]);
    }

    #[test]
    fn what_was_looked_at_comes_again_and_positions_are_those_of_the_input() {
        let mut source = PeekedInput::new(Cursor::new(*b"0123456789"));
        assert_eq!(source.read_to(4).expect("readable"), b"0123");
        let mut reader = source.into_reader();
        let mut two = [0; 2];
        reader.read_exact(&mut two).expect("there");
        assert_eq!((&two, reader.stream_position().expect("it seeks")), (b"01", 2));
        reader.read_exact(&mut two).expect("there");
        assert_eq!(&two, b"23");
        assert_eq!(reader.seek(SeekFrom::Start(1)).expect("it seeks"), 1);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("there");
        assert_eq!(rest, b"123456789");
    }
}
