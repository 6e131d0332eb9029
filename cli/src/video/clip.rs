//! Videos by name, y4m and stored: an error names the video and says what to do.

use anyhow::{Result, bail, ensure};
use nestcast_codec::{Picture, VideoModel};
use nestcast_lab::progress::Progress;
use nestcast_media::stored::Frames;
use nestcast_media::y4m::{self, Error};
use nestcast_media::{Input, InputError, Opened, Replayed};

use crate::args::{Common, VideoCoding};
use crate::files;

/// Opens the tables of video; refuses other models.
pub(crate) fn model(common: &Common) -> Result<VideoModel> {
    ensure!(common.model.is_none(), "video uses built-in tables: leave --model out");
    Ok(VideoModel::built_in())
}

/// The frames of a y4m video that `--frames` asks for, and a bar for them.
pub(super) struct Clip {
    pub(super) name: String,
    pub(super) frames: y4m::Frames<Replayed<Opened>>,
    progress: Progress,
}

impl Clip {
    pub(super) fn open(input: Input<'_>, coding: &VideoCoding, max_pixels: u64, max_bits: u8) -> Result<Self> {
        let (name, length) = (input.name(), input.length());
        let frames = input.y4m(coding.frames, max_pixels)?.with_matrix(coding.matrix()).with_max_bits(max_bits);
        files::note_lost(&name, &frames.notes());
        let progress = Progress::of(&name, frames.count(length));
        Ok(Self { name, frames, progress })
    }

    /// Passes every frame to `work`. Returns why the video breaks off, if it does so after a frame.
    pub(super) fn for_each(&mut self, mut work: impl FnMut(&Picture) -> Result<()>) -> Result<Option<Error>> {
        let (start, mut picture) = (self.frames.start(), self.frames.picture());
        loop {
            match self.frames.read_into(&mut picture) {
                Ok(true) => work(&picture)?,
                Ok(false) => return Ok(None),
                Err(error) if error.broken_at().is_some_and(|frame| frame > start) => return Ok(Some(error)),
                Err(error) => return Err(InputError::named(&self.name, error).into()),
            }
            self.progress.step();
        }
    }
}

/// Prints a note about the video's fault, if any. Refuses a video without a readable frame.
pub(super) fn end(name: &str, frames: &Frames<Replayed<Opened>>, given: u64) -> Result<()> {
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
            bail!("{name} has {there} frames: let the range of --frames begin before frame {there}")
        }
        None => bail!("{name} contains no whole frame: get the video again"),
    }
}
