//! `nestcast decode` of a stored video: to y4m or PNG pictures, as good as a bit rate gives it.

use std::time::Instant;

use anyhow::{Result, ensure};
use nestcast_codec::{Arrived, Budget, Format, Picture, VideoDecoder};
use nestcast_lab::progress::Progress;
use nestcast_lab::video::kbps;

use super::cut::allowed;
use super::sink::{Sink, Target};
use super::stored::Stored;
use crate::args::{Decode, Transform};
use crate::files::{self, Input};

pub(crate) fn run(options: &Decode, input: Input<'_>) -> Result<()> {
    ensure!(options.bytes.is_none(), "--bytes is for pictures: give a video --bitrate");
    ensure!(options.decoder != Some(Transform::Deep), "--decoder deep is for pictures: video has no other than linear");
    let target = Target::new(&options.output, &options.input)?;
    let model = super::model(&options.common)?;
    let mut stored = Stored::open(input, &options.frames, options.common.max_pixels)?;
    stored.check_model(&model)?;
    if let Some(rate) = options.bitrate {
        stored.choose(rate);
    }
    stored.seek()?;
    let header = *stored.header();
    let mut decoding = Decoding {
        decoder: super::decoder(model, header.size, &options.common),
        budget: options.bitrate.map(|rate| Budget::new(rate as f64, header.rate)),
        picture: Picture::zero(header.size, Format::Ycbcr420(header.range)),
        bytes: 0,
        shown: 0,
        repeated: 0,
    };
    let start = Instant::now();
    decoding.run(&mut stored, &target)?;
    let Decoding { bytes, shown, repeated, .. } = decoding;
    let name = stored.name().to_owned();
    stored.end(shown)?;
    if repeated > 0 {
        files::note(&format!("{name}: {repeated} of the {shown} frames cannot be decoded: each shows the one before"));
    }
    if target.is_standard() {
        return Ok(());
    }
    let elapsed = start.elapsed().as_secs_f64();
    files::print(&format!(
        "{}: {}x{}, {shown} frames from {bytes} bytes, {:.0} kbit/s, {elapsed:.1} s, {:.1} frames/s\n",
        options.output.display(),
        header.size.width(),
        header.size.height(),
        kbps(bytes, shown, header.rate),
        shown as f64 / elapsed
    ))
}

struct Decoding {
    decoder: VideoDecoder,
    budget: Option<Budget>,
    picture: Picture,
    /// Of frames that were shown.
    bytes: u64,
    shown: u64,
    /// Of the frames that were shown, those that show the one before, since they cannot be decoded.
    repeated: u64,
}

impl Decoding {
    fn run(&mut self, stored: &mut Stored, target: &Target<'_>) -> Result<()> {
        let mut sink: Option<Sink<'_>> = None;
        let rate = stored.header().rate;
        // A player has the terminal to itself.
        let progress = (!target.is_standard()).then(|| stored.progress());
        while let Some(record) = stored.next()? {
            let count = self.budget.as_mut().map_or(record.bytes.len(), |budget| allowed(budget, &record));
            let mut fault = false;
            let arrived = self.decoder.decode(&record.bytes[..count]).unwrap_or_else(|error| {
                stored.blame(format!("frame {}: {error}", record.number));
                fault = true;
                Arrived::Nothing
            });
            progress.iter().for_each(Progress::step);
            // Frames before those that are asked for are only predicted from, and without any there is nothing to show.
            if record.number < stored.first() || (arrived == Arrived::Nothing && self.shown == 0) {
                continue;
            }
            self.decoder.render_into(&mut self.picture)?;
            if sink.is_none() {
                sink = Some(target.begin(rate)?);
            }
            if let Some(sink) = &mut sink {
                sink.put(record.number, &self.picture)?;
            }
            self.bytes += count as u64;
            self.shown += 1;
            self.repeated += u64::from(fault);
        }
        sink.map_or(Ok(()), Sink::finish)
    }
}
