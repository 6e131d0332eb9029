//! `nestcast inspect` of a stored video: its header, and one line for each frame.

use anyhow::{Context, Result, ensure};
use nestcast_lab::inspect::video::{Comparison, Frames, Line};
use nestcast_media::stored::Error;
use nestcast_media::{FrameRange, Input, InputError};

use super::clip;
use crate::args::Inspect;
use crate::files::{self, Lines};

pub(crate) fn run(options: &Inspect, input: Input<'_>) -> Result<()> {
    let (model, common) = (clip::model(&options.common)?, &options.common);
    // Pictures need memory only if they are decoded.
    let max_pixels = if options.original.is_some() { common.max_pixels } else { u64::MAX };
    let name = input.name();
    let mut video = input.stored_video(FrameRange::default(), max_pixels)?;
    let header = *video.reader().header();
    let mut comparison = None;
    if let Some(path) = &options.original {
        video.reader().check_model(&model).map_err(|error| InputError::named(&name, error))?;
        let original = Input::open(path)?.y4m(FrameRange::default(), max_pixels)?;
        let original = original.with_matrix(Some(header.colours.matrix));
        let alike = original.size() == header.size && original.colours() == header.colours;
        ensure!(alike, "--original has another size or range of samples: name the video that you encoded");
        comparison = Some(Comparison::new(model, original, common.threads()));
    }
    let print = |line: &Line| match options.json {
        true => Lines::Output.print(line),
        false => files::print_result(&line.to_string()),
    };
    print(&Line::of_header(&name, &header, video.reader().chosen(), comparison.is_some()))?;
    let mut frames = Frames::new(header.rate);
    video.keep_random_access();
    let failed = |error| InputError::named(&name, Error::Io(error));
    while let Some(frame) = video.next().map_err(failed)? {
        let psnr = comparison.as_mut().map(|comparison| comparison.psnr(&frame.bytes)).transpose();
        print(&frames.line(&frame, video.take_random_access().is_some(), psnr.context("--original")?.flatten()))?;
    }
    print(&frames.total())?;
    clip::end(&name, &video, frames.count())
}
