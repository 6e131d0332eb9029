//! `nestcast cut` of a stored video: every frame as a sender would cut it.

use std::io::Write as _;

use anyhow::{Context, Result};
use nestcast_codec::{Budget, VideoWriter};

use super::stored::{Record, Stored};
use crate::args::{Cut, Frames};
use crate::files::{self, Input, Output};

/// By how much the bases of all frames may be above a rate before it is said: what heads of records take.
const TOLERANCE: f64 = 1.005;

pub(crate) fn run(options: &Cut, input: Input<'_>, output: &Output<'_>) -> Result<()> {
    let rate = options.length.bitrate.context("a video is cut frame by frame: give --bitrate")?;
    // Nothing is decoded, so that no memory is taken for pictures.
    let mut stored = Stored::open(input, &Frames::default(), u64::MAX)?;
    let frame_rate = stored.header().rate;
    let mut budget = Budget::new(rate as f64, frame_rate);
    let (mut writer, start) = VideoWriter::new(stored.header());
    let mut first = stored.next()?;
    let mut pieces = None;
    let [mut frames, mut bytes, mut bases] = [0_u64; 3];
    while let Some(record) = first.take().map_or_else(|| stored.next(), |record| Ok(Some(record)))? {
        let count = allowed(&mut budget, &record);
        let kept = writer.frame(&record.bytes[..count], record.head.is_some_and(|head| head.key));
        if pieces.is_none() {
            let mut begun = output.begin()?;
            begun.write_all(&start).map_err(|error| output.explain(error))?;
            pieces = Some(begun);
        }
        if let Some(pieces) = &mut pieces {
            pieces.write_all(&kept).map_err(|error| output.explain(error))?;
        }
        frames += 1;
        bytes += kept.len() as u64;
        bases += record.head.map_or(0, |head| head.base.min(record.bytes.len()) as u64);
    }
    stored.end(frames)?;
    if let Some(mut pieces) = pieces {
        pieces.write_all(&writer.finish()).map_err(|error| output.explain(error))?;
        pieces.finish()?;
    }
    let asked = rate as f64 / 1e3;
    let least = super::kbps(bases, frames, frame_rate);
    if least > asked * TOLERANCE {
        let what = "this rate is below what the slowest receiver was encoded for";
        files::note(&format!("{what}: the bases of all frames, which cannot be cut, take {least:.0} kbit/s"));
    }
    if output.is_standard() {
        return Ok(());
    }
    let kbps = super::kbps(bytes, frames, frame_rate);
    files::print(&format!("{}: {frames} frames, {bytes} bytes, {kbps:.0} kbit/s\n", options.output.display()))
}

/// How many of a frame's bytes a receiver gets: all of one that was cut before its base.
pub(super) fn allowed(budget: &mut Budget, record: &Record) -> usize {
    let length = record.bytes.len();
    budget.cut(&record.bytes, record.overhead()).map_or(length, |count| count.min(length))
}
