//! Pictures by name: what is wrong with a file is said with its name and what to do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::{Header, MAX_HEADER, Parsed, Picture, Size, VideoHeader};
use nestcast_media::picture::{self, Decoded, Error, MAGIC_BYTES};
use nestcast_media::y4m;

use crate::files::{self, Input};

/// Bytes in which most files have their header.
const USUAL_HEADER: u64 = 64 * 1024;

/// Reads a PNG or JPEG file, known by its content, as the 8-bit grey or RGB picture that a viewer shows.
///
/// What that changes (16 bits, transparency, CMYK, animation, colour profile) is noted on standard error.
pub(crate) fn read(path: &Path, max_pixels: u64) -> Result<Picture> {
    read_from(Input::open(path)?, max_pixels)
}

/// The same of an input that is open.
pub(crate) fn read_from(input: Input<'_>, max_pixels: u64) -> Result<Picture> {
    let name = files::name(input.path());
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
    let mut input = Input::open(path)?;
    check(&mut input)?;
    if let Ok(size) = picture::size(input.read_to(USUAL_HEADER)?, max_pixels) {
        return Ok(size);
    }
    // Long metadata may stand before it.
    let bytes = whole(input, max_pixels)?;
    picture::size(&bytes, max_pixels).map_err(advise).with_context(|| format!("{} is refused", files::name(path)))
}

fn decode(mut input: Input<'_>, max_pixels: u64) -> Result<Decoded> {
    let name = files::name(input.path());
    check(&mut input)?;
    let bytes = whole(input, max_pixels)?;
    picture::decode(&bytes, max_pixels).map_err(advise).with_context(|| format!("{name} is refused"))
}

/// Checks by a file's beginning that it is a picture.
fn check(input: &mut Input<'_>) -> Result<()> {
    let name = files::name(input.path());
    let start = input.read_to(MAGIC_BYTES.max(MAX_HEADER) as u64)?;
    ensure!(!start.is_empty(), "{name} is empty: get the file again");
    let of_ours = what_else(start);
    picture::check_magic(start)
        .map_err(|error| of_ours.map_or_else(|| advise(error), |what| anyhow!(what)))
        .with_context(|| format!("{name} is refused"))
}

/// All bytes of a file that may have so many pixels.
fn whole(mut input: Input<'_>, max_pixels: u64) -> Result<Vec<u8>> {
    let limit = picture::max_file_bytes(max_pixels);
    let length = input.read_to(limit + 1)?.len() as u64;
    ensure!(
        length <= limit,
        "{} is refused: it has more than {limit} bytes, too many for {max_pixels} pixels: raise --max-pixels",
        files::name(input.path())
    );
    Ok(input.into_bytes())
}

/// What a file is that is no picture but of nestcast, or a video.
fn what_else(start: &[u8]) -> Option<&'static str> {
    if VideoHeader::is_video(start) {
        return Some("it is a stored video, not a picture: `nestcast decode` makes y4m or pictures of it");
    }
    if start.starts_with(y4m::MAGIC.as_bytes()) {
        return Some("it is a y4m video, not a picture: name it alone, where videos are taken");
    }
    let is_stream = Header::parse(start).is_ok_and(|parsed| matches!(parsed, Parsed::Complete(..)));
    is_stream.then_some("it is a stream, not a picture: `nestcast decode` makes a PNG of it")
}

/// Adds which option helps.
fn advise(error: Error) -> anyhow::Error {
    match error {
        Error::Format => anyhow!("{error}, video with `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m`"),
        Error::Pixels { .. } => anyhow!("{error}: scale it down or raise --max-pixels"),
        _ => error.into(),
    }
}
