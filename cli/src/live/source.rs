//! What `SOURCE` names: a picture, a folder of pictures, a y4m video, or one on standard input.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::Picture;
use nestcast_media::Kind;
use nestcast_media::y4m::{self, Rate, Reader};
use nestcast_sender::{PictureError, Pictures};

use crate::args::Send;
use crate::{files, pictures};

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
    let rate = options.rate.map_or_else(|| Rate::new(1, 1), Ok)?;
    if path.is_dir() {
        return folder(path, max_pixels, rate, options.again).map(Source::Pictures);
    }
    if files::kind(path)? != Kind::Y4m {
        ensure!(!options.again, "--loop is for videos and folders, one picture stays by itself: leave it out");
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
    if files::kind(path)? != Kind::Y4m {
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

/// The pictures of a folder. In place of one that cannot be read the one before stays, and a note names it.
fn folder(path: &Path, max_pixels: u64, rate: Rate, again: bool) -> Result<Pictures> {
    let mut files = pictures::named(&[path.to_owned()])?;
    let mut first = None;
    let mut sizes = Vec::new();
    files.retain(|file| said(pictures::size(file, max_pixels)).inspect(|size| sizes.push(*size)).is_some());
    for (file, given) in files.iter().zip(sizes) {
        let (first, size) = *first.get_or_insert((file, given));
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
    let slides = Pictures::slides(files, rate, again, move |file| said(pictures::read(file, max_pixels)));
    slides.with_context(|| format!("{} holds no picture that can be read", path.display()))
}

/// What was read, or nothing and a note that says why.
fn said<T>(read: Result<T>) -> Option<T> {
    read.inspect_err(|error| files::note(&format!("left out: {error:#}"))).ok()
}
