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
use nestcast_codec::VideoModel;

pub(crate) use cut::run as cut;
pub(crate) use decode::run as decode;
pub(crate) use encode::run as encode;
pub(crate) use eval::run as eval;
pub(crate) use inspect::run as inspect;

use crate::args::Common;

/// The tables of video; refuses others.
pub(crate) fn model(common: &Common) -> Result<VideoModel> {
    ensure!(common.model.is_none(), "video has tables of its own, which are built in: leave --model out");
    Ok(VideoModel::built_in())
}
