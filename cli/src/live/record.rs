//! Recordings of a broadcast: `send --record`, and `receive -o` with a stored video.

use std::future::ready;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use nestcast_codec::VideoHeader;
use nestcast_media::output::Recorder;
use nestcast_media::stored::{Recorded, RecordedFrame, StoredSound, Written};
use nestcast_proto::{BroadcastName, Frame, ReceiveStats, ReceivedFrame, Sound, SoundPacket, Welcome};
use nestcast_receiver::{Announcement, Beginning, FrameSink, Readiness};
use nestcast_sender::{RecordedFrames, SoundReceiver, Station};
use tokio::task::JoinHandle;

use super::lines::Line;
use super::process;
use crate::args::{self, NamedSource};
use crate::files::Lines;
use crate::{advice, files};

/// Creates the recordings that the options ask for, and keeps each broadcast in its own until it ends.
pub(super) fn start<'a>(
    options: &args::Send,
    station: impl Fn(&NamedSource) -> &'a Station,
) -> Result<Vec<JoinHandle<Result<()>>>> {
    let files = args::assign_apart(&options.sources, "--record", &options.record)?;
    let mut created = Vec::new();
    for (source, path) in options.sources.iter().zip(files) {
        let Some(path) = path else { continue };
        let (station, name) = (station(source), source.name.clone());
        let sound = station.sound();
        let channels = sound.as_ref().map(|(sound, _)| sound.channels());
        let header = header(&station.welcome());
        match header.and_then(|header| Ok(Recorder::create(path, &header, channels)?)) {
            Ok(recorder) => created.push((name, recorder, station.recorded_frames(), sound.map(|it| it.1))),
            Err(error) => {
                created.into_iter().for_each(|(_, recorder, ..)| recorder.discard());
                return Err(error);
            }
        }
    }
    let start = |(name, recorder, frames, sound)| tokio::spawn(keep(name, recorder, frames, sound, options.json));
    Ok(created.into_iter().map(start).collect())
}

/// Keeps the frames and the sound of a broadcast until it ends. If they cannot be written, the broadcast goes on.
async fn keep(
    name: BroadcastName,
    mut recorder: Recorder,
    mut frames: RecordedFrames,
    mut sound: Option<SoundReceiver>,
    json: bool,
) -> Result<()> {
    loop {
        let next = tokio::select! {
            frame = frames.next() => frame.map(|Frame { id: number, captured, bytes, join, .. }| {
                let random_access = join.map(|join| join.bytes);
                Recorded::Frame(RecordedFrame { number, captured, bytes, random_access })
            }),
            Some(packet) = async { sound.as_mut()?.next().await } => Some(stored(packet)),
        };
        let Some(next) = next else { break };
        let is_frame = matches!(next, Recorded::Frame(_));
        match put(&mut recorder, next) {
            Ok(false) if is_frame => frames.handle_lost(),
            Ok(_) if recorder.needs_random_access() => frames.request_random_access(),
            Ok(_) => {}
            Err(error) => {
                files::note(&format!("{}; the broadcast goes on", advice::told(&error)));
                return Ok(());
            }
        }
    }
    let path = recorder.path().to_owned();
    recorder.finish()?.map_or(Ok(()), |written| tell(&path, &name, written, json))
}

fn stored(SoundPacket { captured, bytes, .. }: SoundPacket) -> Recorded {
    Recorded::Sound(StoredSound { captured, bytes })
}

/// Hands a frame or a packet over; a note says once that the disk is too slow.
fn put(recorder: &mut Recorder, next: Recorded) -> Result<bool> {
    let kept = recorder.put(next)?;
    if !kept {
        let path = recorder.path().display();
        files::note_once(&format!("{path}: the recording lacks frames, because the disk is too slow"));
    }
    Ok(kept)
}

/// Says what a recording has. A broadcast may have a name.
pub(super) fn tell(path: &Path, name: &BroadcastName, written: Written, json: bool) -> Result<()> {
    let Written { frames, bytes, .. } = written;
    if json {
        let broadcast = Some(name.as_str()).filter(|name| !name.is_empty());
        return Lines::Output.print(&Line::Recorded { broadcast, frames, bytes });
    }
    let s = if frames == 1 { "" } else { "s" };
    files::note(&format!("{}: {frames} frame{s} recorded, {bytes} bytes", path.display()));
    Ok(())
}

/// Returns the header of a recording of a broadcast.
pub(super) fn header(welcome: &Welcome) -> Result<VideoHeader> {
    let header = Announcement::of(welcome)?.video_header();
    header.context("a recording is a video, but this broadcast has pictures: receive them as a folder of pictures")
}

/// Keeps what arrives of each frame, and decodes nothing.
pub(super) struct Keeper {
    path: PathBuf,
    /// Whether lines for programs are printed.
    json: bool,
    recording: Option<((VideoHeader, Option<Sound>), Recorder)>,
    /// The sound of this connection.
    sound: Option<Sound>,
    /// The beginning of this connection's video.
    beginning: Beginning,
    /// The newest frame that was not kept.
    lost: Option<u64>,
}

impl Keeper {
    pub(super) fn new(path: &Path, json: bool) -> Self {
        Self { path: path.to_owned(), json, recording: None, sound: None, beginning: Beginning::default(), lost: None }
    }

    /// Ends the file, if there is one. Returns what it has.
    pub(super) fn finish(self) -> Result<Option<Written>> {
        Ok(self.recording.map_or(Ok(None), |(_, recorder)| recorder.finish())?)
    }

    fn begin(&mut self, welcome: &Welcome) -> Result<Readiness> {
        let mut format = (header(welcome)?, self.sound);
        // Frames do not depend on the bits of samples.
        format.0.bits = self.recording.as_ref().map_or(format.0.bits, |((before, _), _)| before.bits);
        self.beginning = Beginning::default();
        if self.recording.is_none() {
            self.recording = Some((format, Recorder::create(&self.path, &format.0, self.sound.map(Sound::channels))?));
        }
        let goes_on = self.recording.as_ref().is_some_and(|(before, _)| *before == format);
        ensure!(goes_on, "the video changed its format: receive it to another file");
        process::note_connected(&Announcement::of(welcome)?, self.json);
        Ok(Readiness::Ready)
    }
}

impl FrameSink for Keeper {
    type Error = anyhow::Error;

    fn handle_connection(&mut self) {
        self.sound = None;
    }

    fn handle_sound_announced(&mut self, sound: Sound) -> bool {
        self.sound = Some(sound);
        true
    }

    fn handle_sound(&mut self, packet: SoundPacket) -> Result<()> {
        self.recording.as_mut().map_or(Ok(()), |(_, recorder)| put(recorder, stored(packet)).map(drop))
    }

    fn handle_welcome(&mut self, welcome: &Welcome) -> impl Future<Output = Result<Readiness>> + Send {
        ready(self.begin(welcome))
    }

    fn handle_frame(
        &mut self,
        ReceivedFrame { header, prefix, .. }: ReceivedFrame,
        _stats: ReceiveStats,
    ) -> Result<()> {
        let Some((_, recorder)) = &mut self.recording else { return Ok(()) };
        let waits = self.beginning.leaves_out(&prefix);
        let frame = RecordedFrame { number: header.id, captured: header.captured, bytes: prefix, random_access: None };
        let kept = !waits && put(recorder, Recorded::Frame(frame))?;
        if kept {
            self.beginning.handle_begun();
        }
        self.lost = Some(header.id).filter(|_| !kept);
        Ok(())
    }

    fn lost(&mut self) -> Option<u64> {
        self.lost.take()
    }
}
