//! A stored video by name: what is wrong is said with its name and what to do.

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::{VideoHeader, VideoModel};
use nestcast_media::Replayed;
use nestcast_media::stored::{self, Error, Reader};

use crate::args;
use crate::files::{self, Input, Opened};

/// The frames of a stored video that are asked for.
pub(super) type Frames = stored::Frames<Replayed<Opened>>;

/// Reads the header; frames of more than `max_pixels` are refused.
pub(super) fn open(input: Input<'_>, frames: &args::Frames, max_pixels: u64) -> Result<Frames> {
    let name = input.name();
    let reader = Reader::new(input.into_reader(), max_pixels).map_err(|error| match error {
        Error::Limit { .. } => anyhow!("{error}: if you trust the video, raise --max-pixels"),
        Error::Empty | Error::Codec(nestcast_codec::Error::Corrupt { .. }) => anyhow!("{error}: get the video again"),
        _ => error.into(),
    });
    Ok(Frames::new(reader.with_context(|| format!("{name} is refused"))?, frames.0.clone()))
}

/// Refuses frames that need other tables.
pub(super) fn check_model(name: &str, header: &VideoHeader, model: &VideoModel) -> Result<()> {
    let (needed, given) = (header.models, model.ids());
    let [[key, residual], [our_key, our_residual]] = [needed, given];
    ensure!(
        needed == given,
        "{name} is refused: it needs the models {key} and {residual}, this build has {our_key} and {our_residual}: \
         take the nestcast that it was made with"
    );
    Ok(())
}

/// Adds the file to what went wrong.
pub(super) fn failed(name: &str, error: Error) -> anyhow::Error {
    match error {
        Error::Io(_) => anyhow::Error::from(error).context(format!("{name} cannot be read")),
        _ => error.into(),
    }
}

/// Says what was the matter, if anything; refuses a video that gave no frame.
pub(super) fn end(name: &str, frames: &Frames, given: u64) -> Result<()> {
    let (there, start) = (frames.reader().next_number(), frames.range().start);
    if given == 0 {
        let why = frames.fault().map_or(String::new(), |fault| format!(": {fault}"));
        let behind = there <= start && start > 0 && why.is_empty();
        ensure!(!behind, "{name} has {there} frames: --frames begins behind them");
        return Err(anyhow!("{name} has no frame to give{why}: get the video again"));
    }
    if let Some(fault) = frames.fault() {
        files::note(&format!("{name}: {fault}: {given} frames are used, get the video again for the rest"));
    }
    Ok(())
}
