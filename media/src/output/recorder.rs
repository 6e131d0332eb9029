//! Records to a file on a thread of its own: nobody who hands frames over waits for the disk.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nestcast_codec::VideoHeader;

use super::error::Error;
use super::place::Output;
use crate::stored::{self, RecordedFrame, Recording, Written};

/// The most bytes that wait for the disk.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// The time between two requests that the system write the file to the disk, for machines that lose power.
const SYNC_TIME: Duration = Duration::from_secs(1);

/// Records frames to a file that is a stored video at any moment.
#[derive(Debug)]
pub struct Recorder {
    frames: Sender<RecordedFrame>,
    /// Bytes that were handed over and not written yet.
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<Recorded>,
}

/// Why a [`Recorder`] does not keep a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRecorded {
    /// The disk is too slow: too many bytes wait for it. Later frames may be kept again.
    Slow,
    /// The file cannot be written: [`Recorder::finish`] says why. No later frame is kept.
    Failed,
}

/// How a recording ended.
#[derive(Debug)]
pub struct Recorded {
    /// What the file has.
    pub written: Written,
    /// Why it has no more frames, if it could not be written. The file then ends with its last whole frame.
    pub error: Option<stored::Error>,
}

impl Recorder {
    /// Creates the file and writes the header. It never replaces a file, because the new one is there from the beginning.
    ///
    /// # Errors
    /// [`Error`] if the place cannot be written, exists, or its name promises another format.
    pub fn create(path: &Path, header: &VideoHeader) -> Result<Self, Error> {
        let place = Output::stream(path, &[])?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => place.explain(error),
        })?;
        let recording = Recording::begin(header, file).map_err(|error| match error {
            stored::Error::Write(error) => place.explain(error),
            other => place.explain(std::io::Error::other(other)),
        })?;
        let (frames, queue) = channel();
        let waiting: Arc<AtomicUsize> = Arc::default();
        let written = Arc::clone(&waiting);
        let thread = thread::spawn(move || run(recording, &queue, &written));
        Ok(Self { frames, waiting, thread })
    }

    /// Hands a frame over, and does not wait.
    ///
    /// # Errors
    /// [`NotRecorded`]: the frame is not in the recording.
    pub fn put(&self, frame: RecordedFrame) -> Result<(), NotRecorded> {
        let count = frame.bytes.len();
        if self.waiting.load(Ordering::Relaxed) + count > MAX_WAITING_BYTES {
            return Err(NotRecorded::Slow);
        }
        self.waiting.fetch_add(count, Ordering::Relaxed);
        self.frames.send(frame).map_err(|_| NotRecorded::Failed)
    }

    /// Waits until all frames and the index are written.
    #[must_use]
    pub fn finish(self) -> Recorded {
        let Self { frames, thread, .. } = self;
        drop(frames);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes frames until there are no more, or the file cannot be written.
fn run(mut recording: Recording<File>, queue: &Receiver<RecordedFrame>, waiting: &AtomicUsize) -> Recorded {
    let mut synced = Instant::now();
    for frame in queue {
        if let Err(error) = recording.write(&frame) {
            let written = recording.written();
            // A file that cannot be cut ends inside a frame, which is a valid end too.
            let _ = recording.get_ref().set_len(written.bytes);
            return Recorded { written, error: Some(error) };
        }
        waiting.fetch_sub(frame.bytes.len(), Ordering::Relaxed);
        if synced.elapsed() >= SYNC_TIME {
            // What the system holds is safe from the end of this process alone.
            let _ = recording.get_ref().sync_data();
            synced = Instant::now();
        }
    }
    let written = recording.written();
    match recording.finish() {
        Ok((_, written)) => Recorded { written, error: None },
        Err(error) => Recorded { written, error: Some(error) },
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_codec::{Display, FrameRate, RenditionRates, Size, VideoModel, Ycbcr};

    use super::*;
    use crate::stored::Reader;

    fn header() -> VideoHeader {
        VideoHeader {
            size: Size::new(64, 48).expect("a size"),
            rate: FrameRate::new(30, 1).expect("a rate"),
            colours: Ycbcr::BT601,
            display: Display::default(),
            models: VideoModel::built_in().ids(),
            renditions: RenditionRates::ONE,
        }
    }

    fn frame(number: u64, bytes: usize) -> RecordedFrame {
        RecordedFrame { number, captured: number, bytes: Bytes::from(vec![7; bytes]) }
    }

    #[test]
    fn frames_are_in_the_file_and_an_existing_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.nst");
        let recorder = Recorder::create(&path, &header()).expect("a file");
        (0..50).for_each(|number| recorder.put(frame(number, 100)).expect("room"));
        let Recorded { written, error } = recorder.finish();
        assert!(error.is_none(), "{error:?}");
        assert_eq!((written.frames, written.bytes), (50, std::fs::metadata(&path).expect("a file").len()));
        let mut reader = Reader::new(File::open(&path).expect("a file"), u64::MAX).expect("a video");
        let count = std::iter::from_fn(|| reader.next_frame().expect("whole")).count();
        assert_eq!((count, reader.is_whole()), (50, true));
        let refused = Recorder::create(&path, &header()).expect_err("it is there");
        assert!(matches!(refused, Error::Exists(_)), "{refused}");
        assert!(Recorder::create(&folder.path().join("a.mp4"), &header()).is_err(), "another format");
    }

    #[test]
    fn a_disk_that_does_not_keep_up_costs_frames_and_no_time() {
        let (frames, queue) = channel();
        let thread = thread::spawn(|| Recorded { written: Written::default(), error: None });
        let recorder = Recorder { frames, waiting: Arc::default(), thread };
        let megabytes = (0..).take_while(|number| recorder.put(frame(*number, 1 << 20)).is_ok()).count();
        assert_eq!(megabytes, 64);
        assert_eq!(recorder.put(frame(64, 1)), Err(NotRecorded::Slow));
        drop(queue);
        recorder.waiting.store(0, Ordering::Relaxed);
        assert_eq!(recorder.put(frame(65, 1)), Err(NotRecorded::Failed));
    }
}
