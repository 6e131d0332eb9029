//! Where decoded frames go: a y4m video, or PNG pictures in a folder.

use std::path::{Path, is_separator};

use anyhow::{Context, Result, ensure};
use nestcast_codec::{FrameRate, Picture};
use nestcast_media::output::Pieces;
use nestcast_media::picture::encode_png;
use nestcast_media::y4m::{Rate, Writer};

use crate::files::{self, Output};

/// Extensions that promise what this does not write.
const OTHER_FORMATS: [&str; 9] = ["png", "jpg", "jpeg", "webp", "gif", "mp4", "mkv", "webm", "avi"];

/// A place for frames, checked before any work is done.
pub(super) enum Target<'a> {
    Video(Output<'a>),
    Folder(&'a Path),
}

/// A place that takes frames.
pub(super) enum Sink<'a> {
    Video(Writer<Pieces<'a>>, &'a Output<'a>),
    Folder(&'a Path),
}

impl<'a> Target<'a> {
    /// A folder is one that is there, or whose name ends with a slash.
    pub(super) fn new(path: &'a Path, input: &Path) -> Result<Self> {
        if path.is_dir() || path.to_string_lossy().ends_with(is_separator) {
            return Ok(Self::Folder(path));
        }
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let promised = extension.is_some_and(|extension| OTHER_FORMATS.iter().any(|format| extension == *format));
        let path_name = path.display();
        ensure!(!promised, "{path_name} would hold a y4m video: give it a name that ends in .y4m, or name a folder/");
        Ok(Self::Video(files::output(path, &[input])?))
    }

    pub(super) fn begin(&'a self, rate: FrameRate) -> Result<Sink<'a>> {
        Ok(match self {
            Self::Folder(folder) => {
                files::begin_folder(folder)?;
                Sink::Folder(folder)
            }
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
            Self::Folder(folder) => {
                let path = folder.join(format!("frame-{number:08}.png"));
                Ok(files::output(&path, &[])?.write_frame(&encode_png(picture)?)?)
            }
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
