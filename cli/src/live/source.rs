//! The inputs that `SOURCE` can name: a picture, a folder of pictures, a y4m or Matroska video, one on standard input, or
//! a stored video.

use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result, anyhow, ensure};
use nestcast_codec::FrameRate;
use nestcast_encode::{
    Muxed, PictureEncoding, PictureError, PictureFormat, Pictures, RenditionLimit, Replay, StoredArchive, VideoEncoding,
};
use nestcast_media::matroska::{SoundFormat, SoundTrack};
use nestcast_media::output::promised_format;
use nestcast_media::{Input, Kind, Opened, Replayed, is_standard};
use nestcast_proto::{BroadcastName, PackageHash};
use nestcast_sender::{AnySource, FrameSource as _, LiveSource, PacedSource};
use nestcast_sound::{RawFormat, SampleFormat, SoundInput, TimedPackets};

use crate::args::{self, NamedSource, Send};
use crate::transforms::Model;
use crate::{files, pictures, video};

/// Opens the sources of all broadcasts with their sound.
pub(super) fn open_all(options: &Send) -> Result<Vec<(BroadcastName, AnySource)>> {
    args::check_sources(&options.sources, &options.sound)?;
    let sounds = args::assign(&options.sources, "--sound", &options.sound)?;
    let raw = args::assign(&options.sources, "--sound-raw", &options.sound_raw)?;
    let opened =
        options.sources.iter().zip(sounds).zip(raw).map(|((NamedSource { name, value: path }, sound), raw)| {
            let is_raw_sound = raw.is_none() || sound.is_some();
            ensure!(is_raw_sound, "--sound-raw is for a source without --sound: leave it out");
            let source = open(options, path, sound.is_some())?;
            let Some(sound) = sound else { return Ok((name.clone(), source)) };
            let own = format!("{} has its own sound: leave --sound out", path.display());
            ensure!(source.sound().is_none(), own);
            Ok((name.clone(), source.with_sound(self::sound(options, sound, raw.copied())?)))
        });
    opened.collect()
}

/// Opens the source of a broadcast once, because a pipe can be read only once.
fn open(options: &Send, path: &Path, has_sound: bool) -> Result<AnySource> {
    let max_pixels = options.common.max_pixels;
    let rate = options.rate.map_or_else(|| FrameRate::new(1, 1), Ok)?;
    if !is_standard(path) && path.is_dir() {
        return stills(options, folder(path, max_pixels, rate, options.repeat)?);
    }
    let mut input = Input::open(path)?;
    let name = input.name();
    let kind = match input.kind()? {
        Kind::Matroska => Kind::Matroska,
        // Only these two come from a pipe.
        _ if is_standard(path) => Kind::Y4m,
        kind => kind,
    };
    let is_damaged = kind == Kind::Other && promised_format(path) == Some("nst");
    ensure!(!is_damaged, "{name} is no stored video, or a damaged one: get it again");
    if !matches!(kind, Kind::Y4m | Kind::Matroska | Kind::StoredVideo) {
        ensure!(!options.repeat, "--repeat is for videos and folders, and one picture stays anyway: leave it out");
        return stills(options, Pictures::still(pictures::read(input, max_pixels)?, rate));
    }
    ensure!(options.rate.is_none(), "--rate is for pictures, but {name} is a video and has its own rate: leave it out");
    ensure!(!options.repeat || input.length().is_some(), "nestcast cannot start {name} again: leave --repeat out");
    let again = options.repeat.then(|| {
        let path = path.to_owned();
        Box::new(move || Ok(Input::open(&path)?.into_reader())) as Box<dyn FnMut() -> _ + core::marker::Send>
    });
    if kind == Kind::StoredVideo {
        ensure!(
            !is_for_encoding(options) && !options.picture.has_networks(),
            "--analysis, --renditions, --effort and --matrix are for encoding, but {name} is encoded: leave them out"
        );
        options.picture.refuse()?;
        video::model(&options.common)?;
        let is_file = input.length().is_some();
        let replay = Replay::new(&name, max_pixels, input.into_reader(), again)?;
        let [path, named] = [path, path].map(Path::to_owned);
        let archive = StoredArchive::new(&replay, move || Ok(Input::open(&path)?.into_reader()))
            .with_time_of_change(move || named.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let source = PacedSource::new(replay);
        return Ok(AnySource::new(if is_file { source.with_archive(archive) } else { source }));
    }
    let (matrix, input) = (options.matrix.asked(), input.into_reader());
    if kind == Kind::Matroska {
        let muxed = Muxed::new(&name, max_pixels, matrix, input, again)?;
        let failed = || format!("{name} cannot be sent with its sound");
        let muxed = if has_sound { muxed } else { with_sound(options, muxed).with_context(failed)? };
        let encoding = video(options, muxed.format())?;
        return Ok(AnySource::new(LiveSource::muxed(muxed, encoding)));
    }
    let pictures = Pictures::y4m(&name, max_pixels, matrix, input, again)?;
    files::note_lost(&name, pictures.notes());
    let encoding = video(options, pictures.format())?;
    Ok(AnySource::new(LiveSource::new(pictures, encoding)))
}

/// Adds the sound that a file has with its pictures.
fn with_sound(options: &Send, muxed: Muxed<Replayed<Opened>>) -> Result<Muxed<Replayed<Opened>>> {
    let Some(SoundTrack { format, delay }) = muxed.sound_track() else { return Ok(muxed) };
    Ok(muxed.with_sound(match format {
        SoundFormat::Opus { channels } => TimedPackets::opus(channels, delay)?,
        SoundFormat::Samples { rate, channels, bits, is_float } => {
            let format = SampleFormat::new(bits, is_float).context("no such samples")?;
            TimedPackets::samples(format, rate, channels, options.sound_bitrate)?
        }
    }))
}

/// Returns whether you gave an option of the video encoder.
fn is_for_encoding(options: &Send) -> bool {
    options.renditions.is_some() || options.effort.is_some() || options.matrix.asked().is_some()
}

/// Opens the sound with the pictures.
fn sound(options: &Send, path: &Path, raw: Option<RawFormat>) -> Result<SoundInput> {
    let input = Input::open(path)?;
    let (name, is_file) = (input.name(), input.length().is_some());
    let sound = SoundInput::new(input.into_reader(), raw, options.sound_bitrate);
    let sound = sound.with_context(|| format!("{name} cannot be sent as sound"))?;
    let path = path.to_owned();
    Ok(match options.repeat && is_file {
        true => sound.repeated(move || Ok(Box::new(Input::open(&path).map_err(std::io::Error::other)?.into_reader()))),
        false => sound,
    })
}

/// Encodes pictures that are each predicted from earlier ones.
fn video(options: &Send, format: PictureFormat) -> Result<VideoEncoding> {
    options.picture.refuse()?;
    video::model(&options.common)?;
    let limit = options.renditions.map_or(RenditionLimit::AsNeeded, RenditionLimit::AtMost);
    Ok(VideoEncoding::new(format, options.common.threads(), limit)?.with_effort(options.effort))
}

/// Broadcasts pictures that are each encoded independently.
fn stills(options: &Send, pictures: Pictures) -> Result<AnySource> {
    ensure!(
        !is_for_encoding(options) && (options.rewind.is_none() || options.sources.len() > 1),
        "--renditions, --effort, --matrix and --rewind are for videos, because nestcast encodes each picture by itself: leave them out"
    );
    let (model, format) = (Model::open(&options.common)?, pictures.format());
    let (_, encoder) = model.encoder(&options.picture)?;
    let encoder = encoder.with_max_bytes(PictureEncoding::most_bytes(format.size));
    let encoding = PictureEncoding::new(format, PackageHash(model.package.hash()), encoder);
    Ok(AnySource::new(LiveSource::new(pictures, encoding.with_package(model.package.archive().into()))))
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
