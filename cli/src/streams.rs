//! A stream in a file: the header is checked before more than it is read.

use anyhow::{Context, Error, Result, anyhow, ensure};
use bytes::Bytes;
use nestcast_codec::{Header, MAX_HEADER, ModelId, Parsed};
use nestcast_media::{picture::check_magic, y4m};

use crate::files::{self, Input};

/// More bytes than any picture's stream needs: so many a pixel, and so many besides.
const MOST_PIXEL_BYTES: u64 = 8;
const MOST_BYTES: u64 = 1 << 20;

/// A stream, or a prefix of one that holds its header.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) header_bytes: usize,
}

impl Stream {
    /// The model that a stream names, as far as its header is there and sound.
    pub(crate) fn model(input: &mut Input<'_>) -> Result<Option<ModelId>> {
        Ok(match Header::parse(input.read_to(MAX_HEADER as u64)?) {
            Ok(Parsed::Complete(header, _)) => Some(header.model),
            _ => None,
        })
    }

    /// Reads as many bytes as `wanted` says once it sees the header, or all where it says nothing.
    pub(crate) fn read(mut input: Input<'_>, wanted: impl FnOnce(&Header) -> Result<Option<usize>>) -> Result<Self> {
        let name = files::name(input.path());
        let start = input.read_to(MAX_HEADER as u64)?;
        ensure!(!start.is_empty(), "{name} is empty: get the file again");
        let parsed = Header::parse(start).map_err(|error| what_else(start).unwrap_or_else(|| error.into()));
        let parsed = parsed.with_context(|| format!("{name} is refused"))?;
        let Parsed::Complete(header, header_bytes) = parsed else {
            anyhow::bail!("{name} ends inside its header, after {} bytes: get more of the stream", start.len());
        };
        let most = header.size.pixels() as u64 * MOST_PIXEL_BYTES + MOST_BYTES;
        let wanted = wanted(&header)?.map_or(u64::MAX, |count| count as u64);
        let length = input.read_to(wanted.min(most + 1))?.len() as u64;
        ensure!(
            length <= most,
            "{name} is refused: it goes on after {most} bytes, more than any stream of a {}x{} picture has: get it again",
            header.size.width(),
            header.size.height()
        );
        Ok(Self { bytes: input.into_bytes().into(), header, header_bytes })
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

/// What a file is that is no stream, but what streams are made of.
fn what_else(start: &[u8]) -> Option<Error> {
    let what = match start {
        _ if check_magic(start).is_ok() => "picture",
        _ if start.starts_with(y4m::MAGIC.as_bytes()) => "y4m video",
        _ => return None,
    };
    Some(anyhow!("it is a {what}, not a stream: `nestcast encode` makes one of it"))
}
