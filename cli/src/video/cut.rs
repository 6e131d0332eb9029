//! `nestcast cut` of a stored video: every frame as a sender would cut it, of the loop that serves the rate best.

use std::io::Write as _;

use anyhow::{Result, bail};
use nestcast_codec::{Budget, LoopRates, RecordHead, VideoHeader, VideoWriter};
use nestcast_lab::video::kbps;

use super::stored::{Record, Stored};
use crate::args::{Cut, Frames};
use crate::files::{self, Input, Output};

/// By how much the bases of all frames may be above a rate before it is said: what heads of records take.
const TOLERANCE: f64 = 1.005;

/// What was kept.
#[derive(Default)]
struct Kept {
    frames: u64,
    bytes: u64,
    /// Of the bytes, those that are never cut.
    bases: u64,
    /// Frames that were kept whole, since they do not say where they may be cut.
    uncut: u64,
}

pub(crate) fn run(options: &Cut, input: Input<'_>, output: &Output<'_>) -> Result<()> {
    let Some(rate) = options.length.bitrate else { bail!("a video is cut frame by frame: give --bitrate") };
    // Nothing is decoded, so that no memory is taken for pictures.
    let mut stored = Stored::open(input, &Frames::default(), u64::MAX)?;
    stored.choose(rate);
    let frame_rate = stored.header().rate;
    let Kept { frames, bytes, bases, uncut } = write(&mut stored, Budget::new(rate as f64, frame_rate), output)?;
    stored.end(frames)?;
    if uncut > 0 {
        files::note(&format!("{uncut} of the {frames} frames are broken and kept whole: get the video again"));
    }
    let [kept, least] = [bytes, bases].map(|bytes| kbps(bytes, frames, frame_rate));
    if least > rate as f64 / 1e3 * TOLERANCE {
        let what = "this rate is below what the slowest receiver was encoded for";
        files::note(&format!("{what}: the bases of all frames, which are never cut, take {least:.0} kbit/s"));
    }
    if output.is_standard() {
        return Ok(());
    }
    files::print(&format!("{}: {frames} frames, {bytes} bytes, {kept:.0} kbit/s\n", options.output.display()))
}

/// Writes what is kept of all frames; nothing if there are none.
fn write(stored: &mut Stored, mut budget: Budget, output: &Output<'_>) -> Result<Kept> {
    let mut kept = Kept::default();
    let Some(first) = stored.next()? else { return Ok(kept) };
    let mut pieces = output.begin()?;
    let mut put = |piece: &[u8]| pieces.write_all(piece).map_err(|error| output.explain(error));
    let (mut writer, start) = VideoWriter::new(&VideoHeader { loops: LoopRates::ONE, ..*stored.header() });
    put(&start)?;
    let mut next = Some(first);
    while let Some(record) = next {
        let count = allowed(&mut budget, &record);
        let key = record.head.is_some_and(|head| head.key);
        let piece = writer.frame(&record.bytes[..count], key);
        put(&piece)?;
        kept.frames += 1;
        kept.uncut += u64::from(record.head.is_none());
        kept.bytes += piece.len() as u64;
        kept.bases += record.head.map_or(0, |head| head.base.min(record.bytes.len()) as u64);
        next = stored.next()?;
    }
    put(&writer.finish())?;
    pieces.finish()?;
    Ok(kept)
}

/// How many of a frame's bytes a receiver gets: all of one that was cut before its base.
pub(super) fn allowed(budget: &mut Budget, record: &Record) -> usize {
    let length = record.bytes.len();
    budget.cut(&record.bytes, RecordHead::bytes_of_frame(length)).map_or(length, |count| count.min(length))
}
