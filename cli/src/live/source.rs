//! What `SOURCE` names: a picture, a folder of pictures, a y4m video, or one on standard input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nestcast_codec::Picture;
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
    if !is_video(path)? {
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

/// The pictures of a folder. In place of one that cannot be read the one before stays, and a note names it.
fn folder(path: &Path, max_pixels: u64, rate: Rate, again: bool) -> Result<Pictures> {
    let mut files = pictures::named(&[path.to_owned()])?;
    files.retain(|file| said(pictures::size(file, max_pixels)).is_some());
    let good = files.iter().enumerate().find_map(|(at, file)| Some((at, said(pictures::read(file, max_pixels))?)));
    let Some((at, picture)) = good else { bail!("{} holds no picture that can be read", path.display()) };
    let (first, size) = (&files[at], picture.size());
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
    let broken = (0..files.len()).map(|place| place < at).collect();
    let mut slides = Slides { files, broken, max_pixels, again, next: 0, last: picture };
    Ok(Pictures::new(size, rate, move || Ok(slides.next())))
}

/// What was read, or nothing and a note that says why.
fn said<T>(read: Result<T>) -> Option<T> {
    read.inspect_err(|error| files::note(&format!("left out: {error:#}"))).ok()
}

/// The pictures of a folder, one after another.
struct Slides {
    files: Vec<PathBuf>,
    /// Those that could not be read, which was said.
    broken: Vec<bool>,
    max_pixels: u64,
    /// Whether they begin again.
    again: bool,
    next: usize,
    /// The last one that could be read; at first the first.
    last: Picture,
}

impl Slides {
    fn next(&mut self) -> Option<Picture> {
        if self.next == self.files.len() && self.again {
            self.next = 0;
        }
        let file = self.files.get(self.next)?;
        let broken = &mut self.broken[self.next];
        self.next += 1;
        if !*broken {
            match said(pictures::read(file, self.max_pixels)) {
                Some(picture) => self.last = picture,
                None => *broken = true,
            }
        }
        Some(self.last.clone())
    }
}
