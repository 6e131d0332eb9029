//! Videos: y4m in, stored videos for all bit rates, and back.

mod clip;
mod cut;
mod decode;
mod encode;
mod eval;
mod inspect;
mod sink;
mod stored;

use anyhow::{Result, ensure};
use nestcast_codec::{Size, VideoDecoder, VideoHeader, VideoModel};
use nestcast_media::y4m;

pub(crate) use cut::run as cut;
pub(crate) use decode::run as decode;
pub(crate) use encode::run as encode;
pub(crate) use eval::run as eval;
pub(crate) use inspect::run as inspect;

use crate::args::Common;
use crate::files::Input;

/// Bytes that tell a stored video from a picture's stream.
const KIND_BYTES: u64 = 8;

/// Whether an input begins as y4m does.
pub(crate) fn is_clip(input: &mut Input<'_>) -> Result<bool> {
    Ok(input.read_to(y4m::MAGIC.len() as u64)?.starts_with(y4m::MAGIC.as_bytes()))
}

/// Whether an input begins as a stored video does.
pub(crate) fn is_stored(input: &mut Input<'_>) -> Result<bool> {
    Ok(VideoHeader::is_video(input.read_to(KIND_BYTES)?))
}

/// The tables of video; refuses others.
pub(crate) fn model(common: &Common) -> Result<VideoModel> {
    ensure!(common.model.is_none(), "video has tables of its own, which are built in: leave --model out");
    Ok(VideoModel::built_in())
}

/// A decoder for frames of this size.
fn decoder(model: VideoModel, size: Size, common: &Common) -> VideoDecoder {
    VideoDecoder::new(model, size, common.threads()).with_max_pixels(common.max_pixels)
}
