//! A stream in a file: what is wrong is said with the file's name and what to do.

use anyhow::{Result, anyhow, ensure};
use bytes::Bytes;
use nestcast_codec::{Header, Stream};
use nestcast_media::stream::{Error, Reader};

use crate::files::{self, Input, Opened};

/// A stream, or a prefix of one that holds its header.
pub(crate) struct StreamFile {
    name: String,
    reader: Reader<Opened>,
}

impl StreamFile {
    /// Reads the header.
    pub(crate) fn open(input: Input<'_>) -> Result<Self> {
        let name = input.name();
        let reader = Reader::new(input.into_source()).map_err(|error| advise(&name, error))?;
        Ok(Self { name, reader })
    }

    pub(crate) const fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The header's length in bytes.
    pub(crate) const fn header_bytes(&self) -> usize {
        self.reader.header_bytes()
    }

    /// Reads all of it, or no more than so many bytes.
    pub(crate) fn read(self, most: Option<usize>) -> Result<Stream> {
        self.reader.read(most).map_err(|error| advise(&self.name, error))
    }

    /// Reads the first `count` bytes. Says so if there are fewer.
    pub(crate) fn prefix(self, count: usize) -> Result<Bytes> {
        let least = self.header_bytes();
        ensure!(count >= least, "{count} bytes end inside the stream's header: ask for {least} or more");
        let bytes = self.read(Some(count))?.prefix(count);
        if count > bytes.len() {
            let length = bytes.len();
            files::note(&format!("{count} bytes are asked for, the stream has {length}: all of it is used"));
        }
        Ok(bytes)
    }
}

/// Adds what to do.
fn advise(name: &str, error: Error) -> anyhow::Error {
    match error {
        Error::Io(_) => anyhow::Error::from(error).context(format!("{name} cannot be read")),
        Error::Empty => anyhow!("{name} is empty: get the file again"),
        Error::Header(bytes) => {
            anyhow!("{name} ends inside its header, after {bytes} bytes: get more of the stream")
        }
        Error::Kind(_) => anyhow!("{name} is refused: {error}: `nestcast encode` makes one of it"),
        Error::Length { .. } => anyhow!("{name} is refused: {error}: get it again"),
        _ => anyhow::Error::from(error).context(format!("{name} is refused")),
    }
}
