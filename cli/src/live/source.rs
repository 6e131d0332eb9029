//! What `SOURCE` names: a picture, a folder of pictures, a y4m video, or one on standard input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use nestcast_codec::Picture;
use nestcast_media::y4m::{self, Rate, Reader};
use nestcast_sender::{PictureError, Pictures, SourceError};

use crate::args::Send;
use crate::{eval, files, pictures};

/// What is broadcast.
pub(super) enum Source {
    /// Each frame is predicted from those before.
    Video(Pictures),
    /// Each is encoded by itself.
    Pictures(Pictures),
}

/// Opens the source of a broadcast.
pub(super) fn open(options: &Send) -> Result<Source> {
    let (path, max_pixels) = (&options.source, options.common.max_pixels);
    let name = files::name(path);
    if files::is_standard(path) {
        ensure!(
            options.rate.is_none(),
            "--rate is for pictures, standard input is a video with a rate of its own: leave it out"
        );
        ensure!(!options.again, "standard input cannot begin again: leave --loop out");
        return Pictures::video(&name, max_pixels, io::stdin(), None).map(Source::Video).map_err(advise);
    }
    let rate = Rate::new(options.rate.unwrap_or(1), 1).map_err(|_| anyhow!("--rate must be 1 to 1000"))?;
    if path.is_dir() {
        return folder(path, max_pixels, rate, options.again).map(Source::Pictures);
    }
    if !is_video(path)? {
        return Ok(Source::Pictures(Pictures::still(pictures::read(path, max_pixels)?, rate)));
    }
    ensure!(options.rate.is_none(), "--rate is for pictures, {name} is a video with a rate of its own: leave it out");
    let open = || File::open(path);
    let input = open().with_context(|| format!("{name} cannot be read"))?;
    let again = options.again.then(|| {
        let path = path.clone();
        Box::new(move || File::open(&path)) as Box<dyn FnMut() -> io::Result<File> + core::marker::Send>
    });
    Pictures::video(&name, max_pixels, input, again).map(Source::Video).map_err(advise)
}

/// Adds which option helps.
fn advise(error: PictureError) -> anyhow::Error {
    match error {
        PictureError::Video { error: y4m::Error::Limit { .. }, .. } => {
            anyhow!("{error}: scale them down or raise --max-pixels")
        }
        _ => error.into(),
    }
}

/// All pictures of a video or a file, to compare with.
pub(super) fn originals(path: &Path, max_pixels: u64) -> Result<Vec<Picture>> {
    if !is_video(path)? {
        return Ok(vec![pictures::read(path, max_pixels)?]);
    }
    let name = files::name(path);
    let mut reader = Reader::new(File::open(path)?, max_pixels).with_context(|| name.clone())?;
    let mut pictures = Vec::new();
    while let Some(picture) = reader.read().with_context(|| name.clone())? {
        pictures.push(picture);
    }
    ensure!(!pictures.is_empty(), "{name} has no frames");
    Ok(pictures)
}

/// Whether a file begins as a y4m video does.
pub(crate) fn is_video(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(y4m::MAGIC.len() as u64).read_to_end(&mut start));
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(start == y4m::MAGIC.as_bytes())
}

fn folder(path: &Path, max_pixels: u64, rate: Rate, again: bool) -> Result<Pictures> {
    let files = eval::pictures_of(&[path.to_owned()])?;
    let Some(first) = files.first() else { bail!("{} has no pictures", path.display()) };
    let size = pictures::read(first, max_pixels)?.size();
    for file in &files {
        let given = pictures::size(file, max_pixels)?;
        ensure!(
            given == size,
            "{} is {}x{}, {} is {}x{}: the pictures of a broadcast have one size, scale them to it or move the others away",
            file.display(),
            given.width(),
            given.height(),
            first.display(),
            size.width(),
            size.height()
        );
    }
    let mut next = 0;
    let pictures = move || {
        if next == files.len() && again {
            next = 0;
        }
        let Some(file) = files.get(next) else { return Ok(None) };
        next += 1;
        pictures::read(file, max_pixels).map(Some).map_err(SourceError::broken_off)
    };
    Ok(Pictures::new(size, rate, pictures))
}
