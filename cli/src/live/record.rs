//! Recordings of a broadcast: `send --record`, and `receive -o` with a stored video.

use std::future::ready;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use nestcast_codec::VideoHeader;
use nestcast_media::output::{NotRecorded, Recorder};
use nestcast_media::stored::{RecordedFrame, Written};
use nestcast_proto::{Arrived, Frame, ReceiveStats, Welcome};
use nestcast_receiver::{Announcement, FrameSink, Readiness};
use nestcast_sender::RecordedFrames;

use super::lines::Line;
use crate::files::Lines;
use crate::{advice, files};

/// A recording in the making.
pub(super) struct Recording {
    path: PathBuf,
    header: VideoHeader,
    /// `None` after a failure.
    recorder: Option<Recorder>,
}

impl Recording {
    /// Creates the file for a broadcast.
    pub(super) fn create(path: &Path, welcome: &Welcome) -> Result<Self> {
        let header = header(welcome)?;
        let recorder = Recorder::create(path, &header)?;
        Ok(Self { path: path.to_owned(), header, recorder: Some(recorder) })
    }

    /// Hands a frame over. Returns whether it is kept; if the disk is too slow, it is not. Fails once, when the file can
    /// no longer be written.
    fn put(&mut self, frame: RecordedFrame) -> Result<bool> {
        match self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.put(frame)) {
            Ok(()) => Ok(true),
            Err(NotRecorded::Slow) => {
                let path = self.path.display();
                files::note_once(&format!("{path}: the recording lacks frames, because the disk is too slow"));
                Ok(false)
            }
            Err(NotRecorded::Failed) => self.end().map(|_| false),
        }
    }

    /// Ends the file. Returns what it has, the first time.
    fn end(&mut self) -> Result<Option<Written>> {
        let Some(recorder) = self.recorder.take() else { return Ok(None) };
        let recorded = recorder.finish();
        let Some(error) = recorded.error else { return Ok(Some(recorded.written)) };
        let frames = recorded.written.frames;
        Err(anyhow::Error::from(error).context(format!("{}: the recording ends after {frames} frames", self.path.display())))
    }

    /// Keeps the frames of a broadcast until it ends. If they cannot be written, the broadcast goes on.
    pub(super) async fn keep(mut self, mut frames: RecordedFrames, json: bool) -> Result<()> {
        while let Some(Frame { id: number, captured, bytes, .. }) = frames.next().await {
            match self.put(RecordedFrame { number, captured, bytes }) {
                Ok(true) => {}
                Ok(false) => frames.handle_lost(),
                Err(error) => {
                    files::note(&format!("{}; the broadcast goes on", advice::told(&error)));
                    return Ok(());
                }
            }
        }
        self.end()?.map_or(Ok(()), |written| tell(&self.path, written, json))
    }
}

/// Says what a recording has.
pub(super) fn tell(path: &Path, written: Written, json: bool) -> Result<()> {
    let Written { frames, keys, bytes } = written;
    if json {
        return Lines::Output.print(&Line::Recorded { frames, keys, bytes });
    }
    files::note(&format!("{}: {frames} frames recorded, {bytes} bytes", path.display()));
    Ok(())
}

/// Returns the header of a recording.
fn header(welcome: &Welcome) -> Result<VideoHeader> {
    let header = Announcement::of(welcome)?.video_header();
    header.context("a recording is a video, but this broadcast has pictures: receive them as a folder of pictures")
}

/// Keeps what arrives of each frame, and decodes nothing.
pub(super) struct Keeper {
    path: PathBuf,
    recording: Option<Recording>,
    /// The newest frame that was not kept.
    lost: Option<u64>,
}

impl Keeper {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), recording: None, lost: None }
    }

    /// Ends the file, if there is one. Returns what it has.
    pub(super) fn finish(self) -> Result<Option<Written>> {
        self.recording.map_or(Ok(None), |mut recording| recording.end())
    }

    fn begin(&mut self, welcome: &Welcome) -> Result<Readiness> {
        if let Some(recording) = &self.recording {
            let what = "the broadcast has another format than before: receive it to another file";
            ensure!(recording.header == header(welcome)?, what);
        } else {
            self.recording = Some(Recording::create(&self.path, welcome)?);
        }
        Ok(Readiness::Ready)
    }
}

impl FrameSink for Keeper {
    type Error = anyhow::Error;

    fn handle_welcome(&mut self, welcome: &Welcome) -> impl Future<Output = Result<Readiness>> + Send {
        ready(self.begin(welcome))
    }

    fn handle_frame(&mut self, frame: Arrived, _stats: ReceiveStats) -> Result<()> {
        let Arrived { header, prefix, .. } = frame;
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let kept = recording.put(RecordedFrame { number: header.id, captured: header.captured, bytes: prefix })?;
        self.lost = Some(header.id).filter(|_| !kept);
        Ok(())
    }

    fn lost(&mut self) -> Option<u64> {
        self.lost.take()
    }
}
