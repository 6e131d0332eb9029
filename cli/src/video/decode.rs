//! `nestcast decode` of a stored video: to y4m or PNG pictures, as good as a bit rate allows.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use nestcast_codec::{Format, Picture};
use nestcast_lab::decoded::DecodedVideo;
use nestcast_lab::progress::Progress;
use nestcast_media::output::{FramePlace, FrameWriter, Output};
use nestcast_media::stored::{Played, Player, Shown};
use nestcast_media::y4m::Note;
use nestcast_media::{Input, InputError, Opened, Replayed, is_standard};
use nestcast_proto::Sound;
use nestcast_sound::SoundTrack;

use super::clip;
use crate::args::{Decode, Transform};
use crate::files;
use crate::transforms;

pub(crate) fn run(options: &Decode, input: Input<'_>) -> Result<()> {
    ensure!(options.bytes.is_none(), "--bytes is for pictures: for a video give --bitrate");
    let place = FramePlace::new(&options.output, &[&options.input])?;
    if let Some(path) = &options.sound {
        ensure!(!is_standard(path), "--sound writes a WAV file: give its name");
        Output::wav(path, &[&options.input, &options.output])?;
    }
    let model = clip::model(&options.common)?;
    let name = input.name();
    let frames = input.stored_video(options.frames, options.common.max_pixels)?;
    let header = *frames.reader().header();
    let bits = if options.decoder == Some(Transform::Deep) { 8 } else { header.bits };
    files::note_lost(&name, Note::rounded(header.bits, bits).as_slice());
    for lost in place.lost((header.colours, bits), header.size, header.display) {
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
    // Before the video: it reads as far as the sound's announcement.
    let mut track = options.sound.as_deref().map(|path| begin_sound(&name, &mut player, path)).transpose()?;
    player.seek().map_err(failed)?;
    // A player has the terminal to itself.
    let progress = (!place.is_standard()).then(|| Progress::of(&name, player.frames().count()));
    let start = Instant::now();
    show(&name, &mut player, bits, &place, progress.as_ref(), track.as_mut())?;
    track.map_or(Ok(()), SoundTrack::finish).context("the sound cannot be written")?;
    drop(progress);
    let played = player.played();
    let Played { frames: shown, repeated, .. } = played;
    clip::end(&name, player.frames(), shown)?;
    if repeated > 0 {
        let lost = format!("{repeated} of the {shown} frames");
        files::note(&format!("{name}: {lost} are missing or damaged: each shows the frame before it"));
    }
    if place.is_standard() {
        return Ok(());
    }
    let decoded = DecodedVideo { output: &options.output, header: &header, played, took: start.elapsed() };
    files::print(&decoded.to_string())
}

type Video = Player<Replayed<Opened>>;
type Track = SoundTrack<BufWriter<File>>;

/// Begins the file for the sound of a video.
fn begin_sound(name: &str, player: &mut Video, path: &Path) -> Result<Track> {
    let sound = player.frames_mut().begin_sound()?.and_then(Sound::with_channels);
    let sound = sound.with_context(|| format!("{name} has no sound: leave --sound out"))?;
    let mut track = Track::default();
    let begun = track.begin(sound, || File::create(path).map(BufWriter::new));
    begun.with_context(|| format!("{} cannot be written", path.display())).map(|()| track)
}

/// Shows the frames in `bits` bits a sample, and passes the packets between them to `track`, which keeps both in step.
fn show(
    name: &str,
    player: &mut Video,
    bits: u8,
    place: &FramePlace,
    progress: Option<&Progress>,
    mut track: Option<&mut Track>,
) -> Result<()> {
    let header = *player.frames().reader().header();
    let mut picture = Picture::zero(header.size, Format::planar(header.colours, bits));
    let (mut frames, mut last): (Option<FrameWriter>, Option<Picture>) = (None, None);
    loop {
        let shown = player.next_into(&mut picture).map_err(|error| InputError::named(name, error))?;
        let mut repeated = Some(0);
        if let Some(track) = &mut track {
            repeated = match shown {
                Some(Shown { captured: Some(captured), .. }) => track.frame(captured, header.rate),
                // The next frame that is there says how often the one before it is written again.
                Some(Shown { repeated: true, .. }) => None,
                _ => repeated,
            };
            player.frames_mut().take_sound().try_for_each(|sound| track.packet(sound.captured, sound.bytes))?;
        }
        let Some(shown) = shown else { break };
        progress.into_iter().for_each(Progress::step);
        let Some(repeated) = repeated else { continue };
        let frames = match &mut frames {
            Some(frames) => frames,
            none => none.insert(place.begin(header.rate, header.display)?),
        };
        frames.repeat(last.as_ref().unwrap_or(&picture), repeated)?;
        frames.put(shown.number, &picture)?;
        if track.is_some() {
            last = Some(picture.clone());
        }
    }
    Ok(frames.map_or(Ok(()), FrameWriter::finish)?)
}
