//! Pictures scaled by `ffmpeg`: down before an encoder, and up to the full size after a decoder.

use std::{ffi::OsString, path::Path};

use anyhow::Result;
use nestcast_codec::{Picture, Size};
use nestcast_lab::ffmpeg::Ffmpeg;

use super::super::{Clip, clip::pictures, rivals::input};

const RAW_VIDEO_ARGUMENTS: [&str; 5] = ["-fps_mode", "passthrough", "-f", "rawvideo", "-"];

/// Returns ffmpeg's filter to a size.
fn filter(size: Size) -> [OsString; 2] {
    let scale = format!("scale={}:{}:flags=lanczos+accurate_rnd+bitexact", size.width(), size.height());
    ["-vf".into(), scale.into()]
}

/// Returns the samples of all frames of `clip` at another size; the file `raw` has those at its own.
pub(super) fn scaled(ffmpeg: &Ffmpeg, clip: &Clip, raw: &Path, size: Size) -> Result<Vec<u8>> {
    let words = input(clip).into_iter().map(OsString::from).chain([raw.into()]);
    ffmpeg.run(words.chain(filter(size)).chain(RAW_VIDEO_ARGUMENTS.map(OsString::from)))
}

/// Decodes a file with the options `decoder`, and scales the pictures to the size of `clip` if they are `smaller`.
pub(super) fn decoded(
    ffmpeg: &Ffmpeg,
    decoder: &[&str],
    coded: &Path,
    clip: &Clip,
    smaller: bool,
) -> Result<Vec<Picture>> {
    let words = decoder.iter().map(OsString::from).chain(["-i".into(), coded.into()]);
    let filter = smaller.then(|| filter(clip.size)).into_iter().flatten();
    let samples = ffmpeg.run(words.chain(filter).chain(RAW_VIDEO_ARGUMENTS.map(OsString::from)))?;
    pictures(clip.size, clip.frames[0].format(), &samples)
}
