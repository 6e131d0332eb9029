//! Where decoded frames go: a y4m video, or PNG pictures in a folder.

use std::path::{Path, is_separator};

use anyhow::{Context, Result, ensure};
use nestcast_codec::{FrameRate, Picture};
use nestcast_media::output::{Output, PictureFolder, Pieces, promised_format};
use nestcast_media::y4m::{Rate, Writer};

/// A place for frames, checked before any work is done.
pub(super) enum Target<'a> {
    Video(Output<'a>),
    Folder(&'a Path),
}

/// A place that takes frames.
pub(super) enum Sink<'a> {
    Video(Writer<Pieces<'a>>, &'a Output<'a>),
    Folder(PictureFolder),
}

impl<'a> Target<'a> {
    /// A folder is one that is there, or whose name ends with a slash.
    pub(super) fn new(path: &'a Path, input: &Path) -> Result<Self> {
        if path.is_dir() || path.to_string_lossy().ends_with(is_separator) {
            return Ok(Self::Folder(path));
        }
        let promises_another = promised_format(path).is_some_and(|format| format != "y4m");
        let name = path.display();
        ensure!(
            !promises_another,
            "{name} would hold a y4m video: give it a name that ends in .y4m, or name a folder/"
        );
        Ok(Self::Video(Output::new(path, &[input])?))
    }

    pub(super) fn begin(&'a self, rate: FrameRate) -> Result<Sink<'a>> {
        Ok(match self {
            Self::Folder(folder) => Sink::Folder(PictureFolder::begin(folder)?),
            Self::Video(output) => {
                let rate = Rate::new(rate.frames, rate.seconds).context("y4m cannot have it")?;
                Sink::Video(Writer::new(output.begin()?, rate), output)
            }
        })
    }

    /// Whether standard output takes the video.
    pub(super) const fn is_standard(&self) -> bool {
        matches!(self, Self::Video(output) if output.is_standard())
    }
}

impl Sink<'_> {
    /// Takes a frame, which has this number.
    pub(super) fn put(&mut self, number: u64, picture: &Picture) -> Result<()> {
        match self {
            Self::Video(writer, output) => writer.write(picture).map_err(|error| output.explain(error).into()),
            Self::Folder(folder) => Ok(folder.put(number, picture)?),
        }
    }

    /// There are no more.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Video(writer, _) => Ok(writer.into_inner().finish()?),
            Self::Folder(_) => Ok(()),
        }
    }
}
