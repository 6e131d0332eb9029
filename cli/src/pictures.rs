//! Pictures by name: what is wrong with a file is said with its name and what to do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::{Picture, Size};
use nestcast_media::Kind;
use nestcast_media::picture::{self, Decoded, Error};

use crate::files::{self, Input};

/// Reads a PNG or JPEG file, known by its content, as the 8-bit grey or RGB picture that a viewer shows.
///
/// What that changes (16 bits, transparency, CMYK, animation, colour profile) is noted on standard error.
pub(crate) fn read(path: &Path, max_pixels: u64) -> Result<Picture> {
    read_from(Input::open(path)?, max_pixels)
}

/// The same of an input that is open.
pub(crate) fn read_from(input: Input<'_>, max_pixels: u64) -> Result<Picture> {
    let name = input.name();
    let decoded = decode(input, max_pixels)?;
    for note in decoded.notes {
        files::note(&format!("{name}: {note}"));
    }
    Ok(decoded.picture)
}

/// The same without notes, where many pictures are read for little of each.
#[cfg(feature = "retrieval")]
pub(crate) fn read_quietly(input: Input<'_>, max_pixels: u64) -> Result<Picture> {
    Ok(decode(input, max_pixels)?.picture)
}

/// The pictures named, and those in the folders named, by name.
pub(crate) fn named(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for input in inputs {
        if files::is_standard(input) || !input.is_dir() {
            all.push(input.clone());
            continue;
        }
        let place = input.display();
        let found = picture::in_folder(input).with_context(|| format!("the folder {place} cannot be read"))?;
        ensure!(!found.is_empty(), "the folder {place} holds no PNG or JPEG pictures: name another");
        all.extend(found);
    }
    Ok(all)
}

/// The size of the picture that [`read`] would give, from the file's header.
pub(crate) fn size(path: &Path, max_pixels: u64) -> Result<Size> {
    let input = Input::open(path)?;
    picture::read_size(input.into_source(), max_pixels).map_err(|error| advise(&files::name(path), error))
}

fn decode(input: Input<'_>, max_pixels: u64) -> Result<Decoded> {
    let name = input.name();
    picture::read(input.into_source(), max_pixels).map_err(|error| advise(&name, error))
}

/// Adds what to do.
fn advise(name: &str, error: Error) -> anyhow::Error {
    let advice = match error {
        Error::Io(_) => return anyhow::Error::from(error).context(format!("{name} cannot be read")),
        Error::Empty => return anyhow!("{name} is empty: get the file again"),
        Error::Format => ", video with `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m`",
        Error::Pixels { .. } => ": scale it down or raise --max-pixels",
        Error::Length { .. } => ": raise --max-pixels",
        Error::Kind(Kind::StoredVideo) => ": `nestcast decode` makes y4m or pictures of it",
        Error::Kind(Kind::Y4m) => ": name it alone, where videos are taken",
        Error::Kind(Kind::Stream) => ": `nestcast decode` makes a PNG of it",
        _ => "",
    };
    anyhow!("{name} is refused: {error}{advice}")
}
