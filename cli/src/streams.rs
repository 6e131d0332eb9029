//! A stream in a file: read whole, header checked.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Header, Parsed};

use crate::files;

/// A stream, or a prefix of one that holds its header.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) header_bytes: usize,
}

impl Stream {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = files::name(path);
        let bytes = files::read(path)?;
        ensure!(!bytes.is_empty(), "{name} is empty: get the stream again");
        let parsed = Header::parse(&bytes).with_context(|| format!("{name} is refused"))?;
        let Parsed::Whole(header, header_bytes) = parsed else {
            anyhow::bail!("{name} ends inside its header, after {} bytes: get more of the stream", bytes.len());
        };
        Ok(Self { bytes: bytes.into(), header, header_bytes })
    }

    /// The first `count` bytes. Says so if there are fewer.
    pub(crate) fn prefix(&self, count: usize) -> Result<Bytes> {
        ensure!(
            count >= self.header_bytes,
            "{count} bytes end inside the stream's header: ask for {} or more",
            self.header_bytes
        );
        let length = self.bytes.len();
        if count > length {
            files::note(&format!("{count} bytes are asked for, the stream has {length}: all of it is used"));
        }
        Ok(self.bytes.slice(..count.min(length)))
    }
}
