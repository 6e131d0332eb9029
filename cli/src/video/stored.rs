//! A stored video, from a file or a pipe, as far as `--frames` asks for it: of several loops one.

use std::ops::Range;

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use nestcast_codec::{FrameHead, VideoHeader, VideoModel};
use nestcast_lab::progress::Progress;
use nestcast_media::stored::{Error, Reader};

use crate::args::Frames;
use crate::files::{self, Input, Replayed};

/// The frames of a stored video, one after another.
pub(super) struct Stored {
    name: String,
    reader: Reader<Replayed>,
    frames: Range<u64>,
    /// What was the matter, said once at the end.
    fault: Option<String>,
}

/// A frame, or a prefix of one.
pub(super) struct Record {
    /// From 0.
    pub(super) number: u64,
    pub(super) bytes: Bytes,
    /// What it says of itself; nothing if it ends in it, or breaks the specification.
    pub(super) head: Option<FrameHead>,
}

impl Stored {
    /// Reads the header; frames of more than `max_pixels` are refused.
    pub(super) fn open(input: Input<'_>, frames: &Frames, max_pixels: u64) -> Result<Self> {
        let name = files::name(input.path());
        let reader = Reader::new(input.into_source(), max_pixels).map_err(|error| match error {
            Error::Limit { .. } => anyhow!("{error}: if you trust the video, raise --max-pixels"),
            Error::Empty | Error::Codec(nestcast_codec::Error::Corrupt { .. }) => {
                anyhow!("{error}: get the video again")
            }
            _ => error.into(),
        });
        let reader = reader.with_context(|| format!("{name} is refused"))?;
        Ok(Self { name, reader, frames: frames.0.clone(), fault: None })
    }

    /// Gives the frames of the loop that serves this rate best, in bits a second.
    pub(super) fn choose(&mut self, rate: u64) {
        self.reader.choose(rate as f64);
    }

    /// The loop whose frames it gives, from 0.
    pub(super) const fn chosen(&self) -> usize {
        self.reader.chosen()
    }

    pub(super) const fn header(&self) -> &VideoHeader {
        self.reader.header()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the first frame that is asked for.
    pub(super) const fn first(&self) -> u64 {
        self.frames.start
    }

    /// Refuses frames that need other tables.
    pub(super) fn check_model(&self, model: &VideoModel) -> Result<()> {
        let (needed, given) = (self.header().models, model.ids());
        let [[key, residual], [our_key, our_residual]] = [needed, given];
        ensure!(
            needed == given,
            "{} is refused: it needs the models {key} and {residual}, this build has {our_key} and {our_residual}: \
             take the nestcast that it was made with",
            self.name
        );
        Ok(())
    }

    /// Goes to the last frame from which the first that is asked for can be decoded.
    pub(super) fn seek(&mut self) -> Result<()> {
        self.reader.seek(self.frames.start).with_context(|| format!("{} cannot be read", self.name))
    }

    /// A bar for the frames to decode.
    pub(super) fn progress(&self) -> Progress {
        let end = self.reader.count().map_or(self.frames.end, |count| count.min(self.frames.end));
        let steps = (end != u64::MAX).then(|| end.saturating_sub(self.reader.next_number()));
        Progress::of(&self.name, steps)
    }

    /// The next frame; nothing behind the last that is asked for.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        let number = self.reader.next_number();
        if number >= self.frames.end {
            return Ok(None);
        }
        let Some(bytes) = self.frame()? else { return Ok(None) };
        let head = FrameHead::parse(&bytes).unwrap_or_else(|error| {
            self.blame(format!("frame {number}: {error}"));
            None
        });
        Ok(Some(Record { number, bytes, head }))
    }

    /// The next frame's bytes.
    fn frame(&mut self) -> Result<Option<Bytes>> {
        match self.reader.next_frame() {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            Ok(None) if self.reader.is_whole() => {}
            Ok(None) => self.blame("it breaks off".to_owned()),
            Err(Error::Io(error)) => return Err(error).with_context(|| format!("{} cannot be read", self.name)),
            Err(error) => self.blame(error.to_string()),
        }
        Ok(None)
    }

    /// Keeps what is the matter; the first counts.
    pub(super) fn blame(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// Says what was the matter, if anything; refuses a video that gave no frame.
    pub(super) fn end(self, given: u64) -> Result<()> {
        let Self { name, reader, frames, fault, .. } = self;
        let there = reader.next_number();
        if given == 0 {
            let why = fault.map_or(String::new(), |fault| format!(": {fault}"));
            let behind = there <= frames.start && frames.start > 0 && why.is_empty();
            ensure!(!behind, "{name} has {there} frames: --frames begins behind them");
            return Err(anyhow!("{name} has no frame to give{why}: get the video again"));
        }
        if let Some(fault) = fault {
            files::note(&format!("{name}: {fault}: {given} frames are used, get the video again for the rest"));
        }
        Ok(())
    }
}
