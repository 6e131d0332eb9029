//! The inputs that `SOURCE` can name: a picture, a folder of pictures, a y4m video, one on standard input, or a stored
//! video.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use nestcast_codec::{FrameRate, Picture};
use nestcast_encode::{PictureEncoding, PictureError, Pictures, RenditionLimit, Replay, VideoEncoding};
use nestcast_media::{Input, Kind, is_standard};
use nestcast_proto::PackageHash;
use nestcast_sender::{LiveSource, PacedSource};
use nestcast_sound::SoundInput;

use crate::args::{Send, Transform};
use crate::transforms::Model;
use crate::{files, pictures, video};

/// The source of a broadcast.
pub(super) enum Source {
    /// Pictures to encode.
    Live(LiveSource<Picture>),
    /// Frames that were encoded earlier.
    Stored(PacedSource),
}

/// Opens the source of a broadcast once, because a pipe can be read only once.
pub(super) fn open(options: &Send, path: &Path) -> Result<Source> {
    let max_pixels = options.common.max_pixels;
    let rate = options.rate.map_or_else(|| FrameRate::new(1, 1), Ok)?;
    if !is_standard(path) && path.is_dir() {
        return stills(options, folder(path, max_pixels, rate, options.repeat)?).map(Source::Live);
    }
    let mut input = Input::open(path)?;
    let name = input.name();
    // Only y4m comes from a pipe.
    let kind = if is_standard(path) { Kind::Y4m } else { input.kind()? };
    if !matches!(kind, Kind::Y4m | Kind::StoredVideo) {
        ensure!(!options.repeat, "--repeat is for videos and folders, and one picture stays anyway: leave it out");
        return stills(options, Pictures::still(pictures::read(input, max_pixels)?, rate)).map(Source::Live);
    }
    ensure!(options.rate.is_none(), "--rate is for pictures, but {name} is a video and has its own rate: leave it out");
    ensure!(!options.repeat || input.length().is_some(), "nestcast cannot start {name} again: leave --repeat out");
    let again = options.repeat.then(|| {
        let path = path.to_owned();
        Box::new(move || Ok(Input::open(&path)?.into_reader())) as Box<dyn FnMut() -> _ + core::marker::Send>
    });
    options.masking.refuse()?;
    if kind == Kind::StoredVideo {
        ensure!(
            !is_for_encoding(options) && options.analysis == Transform::Linear,
            "--analysis, --renditions, --effort and --matrix are for encoding, but {name} is encoded: leave them out"
        );
        video::model(&options.common)?;
        let replay = Replay::new(&name, max_pixels, input.into_reader(), again)?;
        return Ok(Source::Stored(PacedSource::new(replay)));
    }
    let pictures = Pictures::y4m(&name, max_pixels, options.matrix.asked(), input.into_reader(), again)?;
    files::note_lost(&name, pictures.notes());
    video(options, pictures).map(Source::Live)
}

/// Returns whether you gave an option of the video encoder.
fn is_for_encoding(options: &Send) -> bool {
    options.renditions.is_some() || options.effort.is_some() || options.matrix.asked().is_some()
}

/// Opens the sound with the pictures.
pub(super) fn sound(options: &Send) -> Result<Option<SoundInput>> {
    let Some(path) = &options.sound else { return Ok(None) };
    let is_taken = options.sources.iter().any(|source| is_standard(&source.path));
    ensure!(!is_standard(path) || !is_taken, "pictures and sound cannot both be standard input");
    let input = Input::open(path)?;
    let (name, is_file) = (input.name(), input.length().is_some());
    let sound = SoundInput::new(input.into_reader(), options.sound_raw, options.sound_bitrate);
    let sound = sound.with_context(|| format!("{name} cannot be sent as sound"))?;
    let path = path.clone();
    Ok(Some(match options.repeat && is_file {
        true => sound.repeated(move || Ok(Box::new(Input::open(&path).map_err(std::io::Error::other)?.into_reader()))),
        false => sound,
    }))
}

/// Broadcasts pictures that are each predicted from earlier ones.
fn video(options: &Send, pictures: Pictures) -> Result<LiveSource<Picture>> {
    let linear = options.analysis == Transform::Linear;
    ensure!(linear, "--analysis deep is for pictures, and video has only linear: leave it out");
    video::model(&options.common)?;
    let limit = options.renditions.map_or(RenditionLimit::AsNeeded, RenditionLimit::AtMost);
    let encoding = VideoEncoding::new(pictures.format(), options.common.threads(), limit)?;
    Ok(LiveSource::new(pictures, encoding.with_effort(options.effort)))
}

/// Broadcasts pictures that are each encoded independently.
fn stills(options: &Send, pictures: Pictures) -> Result<LiveSource<Picture>> {
    ensure!(
        !is_for_encoding(options),
        "--renditions, --effort and --matrix are for videos, because nestcast encodes each picture by itself: leave them out"
    );
    let (model, format) = (Model::open(&options.common)?, pictures.format());
    let encoder =
        model.encoder(options.analysis, &options.masking)?.with_max_bytes(PictureEncoding::most_bytes(format.size));
    let encoding = PictureEncoding::new(format, PackageHash(model.package.hash()), encoder);
    Ok(LiveSource::new(pictures, encoding.with_package(model.package.archive().into())))
}

/// Reads the pictures of a folder. If one cannot be read, the one before it stays, and a note names it.
fn folder(path: &Path, max_pixels: u64, rate: FrameRate, again: bool) -> Result<Pictures> {
    let size = |file: &Path| said(Input::open(file).and_then(|input| input.picture_size(max_pixels)));
    let read = move |file: &Path| pictures::read(Input::open(file)?, max_pixels);
    let files = pictures::named(&[path.to_owned()])?;
    Pictures::slides(files, rate, again, size, move |file| said(read(file))).map_err(|error| match error {
        PictureError::NoPicture => anyhow!("{} contains no picture that nestcast can read", path.display()),
        other => other.into(),
    })
}

/// Returns what was read, or prints a note that says why it failed.
fn said<T>(read: Result<T, impl Into<anyhow::Error>>) -> Option<T> {
    read.map_err(|error| files::note_left_out(&error.into())).ok()
}
