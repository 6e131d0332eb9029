//! Pictures and their streams by name, with notes on what is missing.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Picture, Stream};
use nestcast_media::{Input, InputError, Opened, is_standard, picture, stream};

use crate::files;

/// Reads a PNG, JPEG or WebP file, recognised by its content, as the 8-bit grey or RGB picture that a viewer shows.
///
/// Notes on standard error what that changes (16 bits, transparency, CMYK, animation, HDR) and what is damaged.
pub(crate) fn read(input: Input<'_>, max_pixels: u64) -> Result<Picture> {
    let name = input.name();
    let decoded = input.picture(max_pixels)?;
    files::note_lost(&name, &decoded.notes);
    Ok(decoded.picture)
}

/// Returns the given pictures, and those in the given folders, by name.
pub(crate) fn named(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for input in inputs {
        if is_standard(input) || !input.is_dir() {
            all.push(input.clone());
            continue;
        }
        let place = input.display();
        let found = picture::in_folder(input).with_context(|| format!("the folder {place} cannot be read"))?;
        ensure!(!found.is_empty(), "the folder {place} contains no pictures: name another");
        all.extend(found);
    }
    Ok(all)
}

/// Reads the rest of a stream, or at most `most` bytes in all.
pub(crate) fn stream(name: &str, reader: stream::Reader<Opened>, most: Option<usize>) -> Result<Stream> {
    Ok(reader.read(most).map_err(|error| InputError::named(name, error))?)
}

/// Reads the first `count` bytes of a stream, and prints a note if there are fewer.
pub(crate) fn prefix(name: &str, reader: stream::Reader<Opened>, count: usize) -> Result<Bytes> {
    let least = reader.header_bytes();
    ensure!(count >= least, "{count} bytes end inside the stream's header: ask for {least} or more");
    let bytes = stream(name, reader, Some(count))?.prefix(count);
    if count > bytes.len() {
        let there = bytes.len();
        files::note(&format!("the stream has {there} bytes, fewer than you asked for: nestcast uses all of it"));
    }
    Ok(bytes)
}
