//! `nestcast decode` of a stored video: to y4m or PNG pictures, as good as a bit rate allows.

use std::time::Instant;

use anyhow::{Result, ensure};
use nestcast_codec::{Format, Picture};
use nestcast_lab::progress::Progress;
use nestcast_lab::video::kbps;
use nestcast_media::output::{FramePlace, FrameWriter};
use nestcast_media::stored::{Played, Player};
use nestcast_media::{Input, InputError, Opened, Replayed};

use super::clip;
use crate::args::{Decode, Transform};
use crate::files;
use crate::transforms;

pub(crate) fn run(options: &Decode, input: Input<'_>) -> Result<()> {
    ensure!(options.bytes.is_none(), "--bytes is for pictures: for a video give --bitrate");
    let place = FramePlace::new(&options.output, &[&options.input])?;
    let model = clip::model(&options.common)?;
    let name = input.name();
    let frames = input.stored_video(options.frames, options.common.max_pixels)?;
    let header = *frames.reader().header();
    for lost in place.lost(header.colours, header.size, header.display) {
        files::note(&format!("{name}: {lost}"));
    }
    let failed = |error| InputError::named(&name, error);
    let mut player = Player::new(frames, model, options.common.threads()).map_err(failed)?;
    if options.decoder == Some(Transform::Deep) {
        player = player.with_restoration(transforms::restoration(options.common.threads())?);
    }
    if let Some(rate) = options.bitrate {
        player = player.with_bitrate(rate);
    }
    player.seek().map_err(failed)?;
    // A player has the terminal to itself.
    let progress = (!place.is_standard()).then(|| Progress::of(&name, player.frames().count()));
    let start = Instant::now();
    show(&name, &mut player, &place, progress.as_ref())?;
    drop(progress);
    let Played { frames: shown, bytes, repeated } = player.played();
    clip::end(&name, player.frames(), shown)?;
    if repeated > 0 {
        files::note(&format!(
            "{name}: nestcast cannot decode {repeated} of the {shown} frames: each shows the frame before it"
        ));
    }
    if place.is_standard() {
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
    place: &FramePlace,
    progress: Option<&Progress>,
) -> Result<()> {
    let header = *player.frames().reader().header();
    let mut picture = Picture::zero(header.size, Format::Ycbcr420(header.colours));
    let mut frames: Option<FrameWriter> = None;
    while let Some(shown) = player.next_into(&mut picture).map_err(|error| InputError::named(name, error))? {
        progress.into_iter().for_each(Progress::step);
        let frames = match &mut frames {
            Some(frames) => frames,
            none => none.insert(place.begin(header.rate, header.display)?),
        };
        frames.put(shown.number, &picture)?;
    }
    Ok(frames.map_or(Ok(()), FrameWriter::finish)?)
}
