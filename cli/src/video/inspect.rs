//! `nestcast inspect` of a stored video: its header, and a line a frame.

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Format, Picture, VideoDecoder, VideoHeader, VideoModel};
use nestcast_lab::inspect::video::{Frames, Line};
use nestcast_lab::metrics::{YcbcrPsnr, ycbcr_psnr};
use nestcast_media::stored::StoredFrame;

use super::clip::Clip;
use super::stored;
use crate::args::{self, Common, Inspect};
use crate::files::{self, Input, Lines};

pub(crate) fn run(options: &Inspect, input: Input<'_>) -> Result<()> {
    let model = super::model(&options.common)?;
    // Memory is taken for pictures where they are decoded alone.
    let max_pixels = if options.original.is_some() { options.common.max_pixels } else { u64::MAX };
    let name = input.name();
    let mut video = stored::open(input, &args::Frames::default(), max_pixels)?;
    let header = *video.reader().header();
    let mut comparison = match &options.original {
        Some(path) => {
            stored::check_model(&name, &header, &model)?;
            Some(Comparison::open(model, Input::open(path)?, &header, &options.common)?)
        }
        None => None,
    };
    let print = |line: &Line| match options.json {
        true => Lines::Output.print(line),
        false => files::print_result(&line.to_string()),
    };
    print(&Line::of_header(&name, &header, video.reader().chosen()))?;
    let mut frames = Frames::default();
    while let Some(frame) = video.next().with_context(|| format!("{name} cannot be read"))? {
        let psnr = comparison.as_mut().map(|comparison| comparison.psnr(&frame)).transpose()?.flatten();
        print(&frames.line(&frame, psnr))?;
    }
    print(&frames.total(header.rate))?;
    stored::end(&name, &video, frames.count())
}

/// Decodes beside the original.
struct Comparison {
    decoder: VideoDecoder,
    clip: Clip,
    original: Picture,
    decoded: Picture,
}

impl Comparison {
    fn open(model: VideoModel, original: Input<'_>, header: &VideoHeader, common: &Common) -> Result<Self> {
        let clip = Clip::whole(original, common.max_pixels)?;
        let alike = clip.size() == header.size && clip.range() == header.range;
        ensure!(alike, "--original has another size or range of samples: name the video that this was made of");
        Ok(Self {
            decoder: VideoDecoder::new(model, header.size, common.threads()).with_max_pixels(common.max_pixels),
            original: clip.picture(),
            decoded: Picture::zero(header.size, Format::Ycbcr420(header.range)),
            clip,
        })
    }

    /// Nothing for a frame that cannot be decoded, or is not in the original.
    fn psnr(&mut self, frame: &StoredFrame) -> Result<Option<YcbcrPsnr>> {
        if !self.clip.read_into(&mut self.original).context("--original")? {
            return Ok(None);
        }
        if self.decoder.decode(&frame.bytes).is_err() {
            return Ok(None);
        }
        self.decoder.render_into(&mut self.decoded)?;
        Ok(Some(ycbcr_psnr(&self.original, &self.decoded)))
    }
}
