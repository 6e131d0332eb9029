//! A reader that can go back a little, for readers of files that are given a pipe.

use std::io::{self, Read, Seek, SeekFrom};

/// How many bytes it can go back: more than the `ogg` crate reads too far.
const KEPT_BYTES: usize = 4096;

/// Reads from `inner`, and keeps the last bytes for a short way back.
#[derive(Debug)]
pub(crate) struct Rewind<R> {
    inner: R,
    kept: Vec<u8>,
    /// Bytes at the end of `kept` that are read again.
    back: usize,
    at: u64,
}

impl<R: Read> Rewind<R> {
    pub(crate) const fn new(inner: R) -> Self {
        Self { inner, kept: Vec::new(), back: 0, at: 0 }
    }

    /// Returns the next bytes, at most `count`, and reads them again later.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        self.back += bytes.len();
        self.at -= bytes.len() as u64;
        Ok(bytes)
    }
}

impl<R: Read> Read for Rewind<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = if self.back > 0 {
            let again = &self.kept[self.kept.len() - self.back..];
            let count = again.len().min(out.len());
            out[..count].copy_from_slice(&again[..count]);
            self.back -= count;
            count
        } else {
            let count = self.inner.read(out)?;
            self.kept.extend_from_slice(&out[count.saturating_sub(KEPT_BYTES)..count]);
            let surplus = self.kept.len().saturating_sub(KEPT_BYTES);
            self.kept.drain(..surplus);
            count
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Read> Seek for Rewind<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Current(by) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let back = usize::try_from(by.checked_neg().unwrap_or(i64::MAX)).ok().and_then(|by| self.back.checked_add(by));
        let back = back.filter(|back| *back <= self.kept.len()).ok_or(io::ErrorKind::Unsupported)?;
        self.at -= (back - self.back) as u64;
        self.back = back;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_back_and_reads_the_same_bytes_again() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at % 251) as u8).collect();
        let mut reader = Rewind::new(&bytes[..]);
        assert_eq!(reader.peek(12).expect("bytes"), bytes[..12]);
        let mut read = vec![0; 5000];
        reader.read_exact(&mut read).expect("bytes");
        assert_eq!(read, bytes[..5000]);
        assert_eq!(reader.seek(SeekFrom::Current(-1000)).expect("a short way"), 4000);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("bytes");
        assert_eq!(rest, bytes[4000..]);
        assert!(reader.seek(SeekFrom::Current(-5000)).is_err() && reader.seek(SeekFrom::Start(0)).is_err());
    }
}
