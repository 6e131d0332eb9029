//! A y4m video, from a file or a pipe, as far as `--frames` asks for it.

use std::ops::Range;

use anyhow::{Context, Result, anyhow, ensure};
use nestcast_codec::{Format, FrameRate, Picture, Range as Samples, Size};
use nestcast_lab::progress::Progress;
use nestcast_media::Replayed;
use nestcast_media::y4m::{Error, Reader};

use crate::args::Frames;
use crate::files::{Input, Opened};

/// The frames of a video, one after another.
pub(super) struct Clip {
    name: String,
    reader: Reader<Replayed<Opened>>,
    frames: Range<u64>,
    /// Number of the next frame.
    next: u64,
    /// How many frames a file of its length has.
    count: Option<u64>,
    /// Whether the user may choose frames.
    with_frames: bool,
}

impl Clip {
    /// Reads the header; frames of more than `max_pixels` are refused.
    pub(super) fn open(input: Input<'_>, frames: &Frames, max_pixels: u64) -> Result<Self> {
        let (name, length) = (input.name(), input.length());
        let reader = Reader::new(input.into_reader(), max_pixels).map_err(|error| match error {
            Error::Limit { .. } => anyhow!("{error}: scale them down or raise --max-pixels"),
            _ => error.into(),
        });
        let reader = reader.with_context(|| format!("{name} is refused"))?;
        let count = length.map(|length| length / reader.frame_bytes() as u64);
        Ok(Self { name, reader, frames: frames.0.clone(), next: 0, count, with_frames: true })
    }

    /// The same with all frames, for a command that has no `--frames`.
    pub(super) fn whole(input: Input<'_>, max_pixels: u64) -> Result<Self> {
        Ok(Self { with_frames: false, ..Self::open(input, &Frames::default(), max_pixels)? })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn size(&self) -> Size {
        self.reader.size()
    }

    /// The values that its samples take.
    pub(super) const fn range(&self) -> Samples {
        self.reader.range()
    }

    pub(super) const fn rate(&self) -> FrameRate {
        let rate = self.reader.rate();
        FrameRate { frames: rate.frames(), seconds: rate.seconds() }
    }

    /// A picture to read frames into: planar YCbCr 4:2:0, also of a grey video.
    pub(super) fn picture(&self) -> Picture {
        Picture::zero(self.size(), Format::Ycbcr420(self.range()))
    }

    /// A bar for the frames that are asked for.
    pub(super) fn progress(&self) -> Progress {
        let end = self.count.map_or(self.frames.end, |count| count.min(self.frames.end));
        let steps = (end != u64::MAX).then(|| end.saturating_sub(self.frames.start));
        Progress::of(&self.name, steps)
    }

    /// Reads the next frame that is asked for; gives whether there was one.
    pub(super) fn read_into(&mut self, picture: &mut Picture) -> Result<bool> {
        while self.next < self.frames.end {
            let read = self.reader.read_into(picture).map_err(|error| self.advise(error));
            if !read.with_context(|| format!("{} is refused", self.name))? {
                break;
            }
            self.next += 1;
            if self.next > self.frames.start {
                return Ok(true);
            }
        }
        let (name, there) = (&self.name, self.next);
        ensure!(there > 0, "{name} has no frames: get the video again");
        ensure!(there > self.frames.start, "{name} has {there} frames: --frames begins behind them");
        Ok(false)
    }

    /// Adds how the frames before are had.
    fn advise(&self, error: Error) -> anyhow::Error {
        let start = self.frames.start;
        match error {
            Error::Broken { frame } | Error::Lost { frame } if frame > start && self.with_frames => {
                anyhow!("{error}: --frames {start}..{frame} takes what is before")
            }
            _ => error.into(),
        }
    }
}
