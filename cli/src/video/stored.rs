//! A stored video by name: what is wrong is said with its name and what to do.

use anyhow::{Result, bail};
use nestcast_media::{Opened, Replayed};

use crate::files;

/// The frames of a stored video that are asked for.
type Frames = nestcast_media::stored::Frames<Replayed<Opened>>;

/// Says what was the matter, if anything; refuses a video that gave no frame.
pub(super) fn end(name: &str, frames: &Frames, given: u64) -> Result<()> {
    if given > 0 {
        if let Some(fault) = frames.fault() {
            files::note(&format!("{name}: {fault}: nestcast uses {given} frames; get the video again for the rest"));
        }
        return Ok(());
    }
    let (there, start) = (frames.reader().next_number(), frames.range().start);
    match frames.fault() {
        Some(fault) => bail!("{name} contains no whole frame: {fault}: get the video again"),
        None if there <= start && start > 0 => {
            bail!("{name} has {there} frames: choose a range that --frames begins before their end")
        }
        None => bail!("{name} contains no whole frame: get the video again"),
    }
}
