//! `nestcast decode` of a stored video: to y4m or PNG pictures, as good as a bit rate gives it.

use std::time::Instant;

use anyhow::{Result, ensure};
use nestcast_codec::{Format, Picture};
use nestcast_lab::progress::Progress;
use nestcast_lab::video::kbps;
use nestcast_media::Replayed;
use nestcast_media::stored::Player;

use super::sink::{Sink, Target};
use super::stored;
use crate::args::{Decode, Transform};
use crate::files::{self, Input, Opened};

/// What was shown.
#[derive(Default)]
struct Count {
    bytes: u64,
    shown: u64,
    /// Of the frames that were shown, those that show the one before, since they cannot be decoded.
    repeated: u64,
}

pub(crate) fn run(options: &Decode, input: Input<'_>) -> Result<()> {
    ensure!(options.bytes.is_none(), "--bytes is for pictures: give a video --bitrate");
    ensure!(options.decoder != Some(Transform::Deep), "--decoder deep is for pictures: video has no other than linear");
    let target = Target::new(&options.output, &options.input)?;
    let model = super::model(&options.common)?;
    let name = input.name();
    let frames = stored::open(input, &options.frames, options.common.max_pixels)?;
    let header = *frames.reader().header();
    stored::check_model(&name, &header, &model)?;
    let mut player = Player::new(frames, model, options.common.threads());
    if let Some(rate) = options.bitrate {
        player = player.with_bitrate(rate as f64);
    }
    player.seek().map_err(|error| stored::failed(&name, error))?;
    // What plays the video has the terminal to itself.
    let progress = (!target.is_standard()).then(|| Progress::of(&name, player.frames().count()));
    let start = Instant::now();
    let Count { bytes, shown, repeated } = show(&name, &mut player, &target, progress.as_ref())?;
    drop(progress);
    stored::end(&name, player.frames(), shown)?;
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

fn show(
    name: &str,
    player: &mut Player<Replayed<Opened>>,
    target: &Target<'_>,
    progress: Option<&Progress>,
) -> Result<Count> {
    let header = *player.frames().reader().header();
    let mut picture = Picture::zero(header.size, Format::Ycbcr420(header.range));
    let mut sink: Option<Sink<'_>> = None;
    let mut count = Count::default();
    while let Some(shown) = player.next_into(&mut picture).map_err(|error| stored::failed(name, error))? {
        progress.into_iter().for_each(Progress::step);
        let sink = match &mut sink {
            Some(sink) => sink,
            none => none.insert(target.begin(header.rate)?),
        };
        sink.put(shown.number, &picture)?;
        count.bytes += shown.bytes as u64;
        count.shown += 1;
        count.repeated += u64::from(shown.repeated);
    }
    sink.map_or(Ok(()), Sink::finish)?;
    Ok(count)
}
