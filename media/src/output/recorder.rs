//! Records to a file on a thread of its own: nobody who hands frames over waits for the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nestcast_codec::{FrameHead, VideoHeader};

use super::error::Error;
use super::place::Output;
use crate::stored::{self, CaptureOrder, MIN_RANDOM_ACCESS_FRAMES, Recorded, RecordedFrame, Recording, Written};

/// The most bytes that wait for the disk.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// The time between two requests that the system write the file to the disk, for machines that lose power.
const SYNC_TIME: Duration = Duration::from_secs(1);

/// The time from one random-access frame that is kept to the next, in microseconds.
const RANDOM_ACCESS_MICROS: u64 = 2_000_000;

/// Records frames to a file that is a stored video at any moment.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    queue: Sender<Recorded>,
    /// Bytes that were handed over and not written yet.
    waiting: Arc<AtomicUsize>,
    /// `None` after a failure.
    thread: Option<JoinHandle<Outcome>>,
    /// The number of the last frame with which a decoder can begin, and when it was captured.
    begins: Option<(u64, u64)>,
    needs_random_access: bool,
}

/// Why a recording ended early. The file then ends with its last whole frame.
#[derive(Debug, thiserror::Error)]
#[error("{}: the recording ends after {frames} frames", .path.display())]
pub struct RecordingError {
    /// The file.
    pub path: PathBuf,
    /// The frames that it has.
    pub frames: u64,
    /// Why it has no more.
    pub source: io::Error,
}

/// What a file has, and why it has no more if it could not be written.
type Outcome = Result<Written, (Written, io::Error)>;

impl Recorder {
    /// Creates the file and writes the header, and that there is sound with this number of channels, 1 or 2, if any. It
    /// never replaces a file, because the new one is there from the beginning.
    ///
    /// # Errors
    /// [`Error`] if the place cannot be written, exists, or its name promises another format.
    pub fn create(path: &Path, header: &VideoHeader, channels: Option<usize>) -> Result<Self, Error> {
        let place = Output::recording(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => place.explain(error),
        })?;
        let mut recording = Recording::begin(header, file).map_err(|error| place.explain(cause(error)))?;
        let begun = channels.map_or(Ok(()), |channels| recording.begin_sound(channels));
        begun.map_err(|error| place.explain(cause(error)))?;
        let order = channels.map(|_| CaptureOrder::default());
        let (queue, items) = channel();
        let waiting: Arc<AtomicUsize> = Arc::default();
        let written = Arc::clone(&waiting);
        // Its name shows what recording costs.
        let thread = thread::Builder::new().name("recorder".to_owned());
        let thread =
            thread.spawn(move || run(recording, order, &items, &written)).map_err(|error| place.explain(error))?;
        let thread = Some(thread);
        Ok(Self { path: path.to_owned(), queue, waiting, thread, begins: None, needs_random_access: false })
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands a frame or a packet of sound over, and does not wait. Returns whether the recording keeps it: it does not
    /// if too many bytes wait for a slow disk, and after a failure. It keeps no packet of sound that is empty or too
    /// long for a stored video. It keeps a random-access frame every two seconds, and at most one in 8 frames.
    ///
    /// # Errors
    /// Once, when the file can no longer be written.
    pub fn put(&mut self, mut next: Recorded) -> Result<bool, RecordingError> {
        if let Recorded::Frame(frame) = &mut next {
            self.choose_random_access(frame);
        }
        if matches!(&next, Recorded::Sound(sound) if !sound.can_be_stored()) {
            return Ok(false);
        }
        let count = next.length();
        if self.thread.is_none() || self.waiting.load(Ordering::Relaxed) + count > MAX_WAITING_BYTES {
            return Ok(false);
        }
        self.waiting.fetch_add(count, Ordering::Relaxed);
        if self.queue.send(next).is_ok() {
            return Ok(true);
        }
        let ended = self.thread.take().map_or(Ok(Written::default()), join);
        ended.map(|_| false).map_err(|ended| failed(&self.path, ended))
    }

    /// Returns whether the next frame should have a [random-access frame](RecordedFrame::random_access), so that who sends
    /// the recording can begin there at once. While a picture stays it should not.
    #[must_use]
    pub const fn needs_random_access(&self) -> bool {
        self.needs_random_access
    }

    /// Leaves out a random-access frame that comes soon after the last.
    fn choose_random_access(&mut self, frame: &mut RecordedFrame) {
        let head = FrameHead::parse(&frame.bytes).ok().flatten();
        let is_due = self.begins.is_none_or(|(number, captured)| {
            frame.captured.abs_diff(captured) >= RANDOM_ACCESS_MICROS
                && frame.number.abs_diff(number) >= MIN_RANDOM_ACCESS_FRAMES
        });
        if !is_due {
            frame.random_access = None;
        }
        // Who sends the recording begins with the first frame too, but with no other key frame.
        let is_first = self.begins.is_none() && head.is_some_and(|head| head.key);
        if frame.random_access.is_some() || is_first {
            (self.begins, self.needs_random_access) = (Some((frame.number, frame.captured)), false);
        } else {
            self.needs_random_access = is_due && head.is_some_and(|head| !head.stays);
        }
    }

    /// Waits until all frames and the index are written. Returns what the file has; `None` after a failure that
    /// [`Recorder::put`] has returned.
    ///
    /// # Errors
    /// If the file can no longer be written.
    pub fn finish(self) -> Result<Option<Written>, RecordingError> {
        let Self { path, queue, thread, .. } = self;
        drop(queue);
        thread.map(join).transpose().map_err(|ended| failed(&path, ended))
    }

    /// Removes the file, for a recording that is not wanted after all.
    pub fn discard(self) {
        let Self { path, queue, thread, .. } = self;
        drop(queue);
        let _ = thread.map(join);
        // The caller has another error to report.
        let _ = std::fs::remove_file(path);
    }
}

fn join(thread: JoinHandle<Outcome>) -> Outcome {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn failed(path: &Path, (written, source): (Written, io::Error)) -> RecordingError {
    RecordingError { path: path.to_owned(), frames: written.frames, source }
}

/// Returns the system's error.
fn cause(error: stored::Error) -> io::Error {
    match error {
        stored::Error::Write(error) => error,
        other => io::Error::other(other),
    }
}

/// Writes until there is no more, or the file cannot be written. A file with sound is written in the order of capture.
fn run(
    mut recording: Recording<File>,
    mut order: Option<CaptureOrder>,
    queue: &Receiver<Recorded>,
    waiting: &AtomicUsize,
) -> Outcome {
    let mut synced = Instant::now();
    for next in queue {
        waiting.fetch_sub(next.length(), Ordering::Relaxed);
        match &mut order {
            Some(order) => order.push(next).try_for_each(|next| write(&mut recording, &next))?,
            None => write(&mut recording, &next)?,
        }
        if synced.elapsed() >= SYNC_TIME {
            // What the system holds is safe from the end of this process alone.
            let _ = recording.get_ref().sync_data();
            synced = Instant::now();
        }
    }
    order.into_iter().flat_map(CaptureOrder::finish).try_for_each(|next| write(&mut recording, &next))?;
    let written = recording.written();
    recording.finish().map(|(_, written)| written).map_err(|error| (written, cause(error)))
}

fn write(recording: &mut Recording<File>, next: &Recorded) -> Result<(), (Written, io::Error)> {
    let outcome = match next {
        Recorded::Frame(frame) => recording.write(frame),
        Recorded::Sound(sound) => recording.write_sound(sound),
    };
    outcome.map_err(|error| {
        let written = recording.written();
        // A file that cannot be cut ends inside a frame, which is a valid end too.
        let _ = recording.get_ref().set_len(written.bytes);
        (written, cause(error))
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_codec::{
        Bitrate, Display, Format, FrameRate, Picture, Population, RenditionRates, Size, VideoEncoder, VideoModel,
        VideoSettings, Ycbcr,
    };

    use super::*;
    use crate::stored::{Reader, StoredSound};

    fn header() -> VideoHeader {
        VideoHeader {
            size: Size::new(64, 48).expect("a size"),
            rate: FrameRate::new(30, 1).expect("a rate"),
            colours: Ycbcr::BT601,
            bits: 8,
            display: Display::default(),
            models: VideoModel::built_in().ids(),
            renditions: RenditionRates::ONE,
        }
    }

    fn frame(number: u64, bytes: usize) -> Recorded {
        Recorded::Frame(RecordedFrame {
            number,
            captured: number * 40_000,
            bytes: Bytes::from(vec![7; bytes]),
            random_access: None,
        })
    }

    #[test]
    fn frames_are_in_the_file_and_an_existing_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.nst");
        let mut recorder = Recorder::create(&path, &header(), None).expect("a file");
        assert!((0..50).all(|number| recorder.put(frame(number, 100)).expect("room")));
        let written = recorder.finish().expect("room").expect("it did not fail");
        assert_eq!((written.frames, written.bytes), (50, std::fs::metadata(&path).expect("a file").len()));
        let mut reader = Reader::new(File::open(&path).expect("a file"), u64::MAX).expect("a video");
        let count = std::iter::from_fn(|| reader.next_frame().expect("whole")).count();
        assert_eq!((count, reader.is_whole()), (50, true));
        let refused = Recorder::create(&path, &header(), None).expect_err("it is there");
        assert!(matches!(refused, Error::Exists(_)), "{refused}");
        assert!(Recorder::create(&folder.path().join("a.mp4"), &header(), None).is_err(), "another format");
    }

    #[test]
    fn a_disk_that_does_not_keep_up_costs_frames_and_no_time() {
        let (queue, items) = channel();
        let full = || Err((Written { frames: 7, ..Written::default() }, ErrorKind::StorageFull.into()));
        let (path, thread) = ("a.nst".into(), Some(thread::spawn(full)));
        let waiting = Arc::default();
        let mut recorder = Recorder { path, queue, waiting, thread, begins: None, needs_random_access: false };
        let megabytes =
            (0..).take_while(|number| recorder.put(frame(*number, 1 << 20)).expect("it takes them")).count();
        assert_eq!(megabytes, 64);
        assert!(!recorder.put(frame(64, 1)).expect("it goes on"));
        drop(items);
        recorder.waiting.store(0, Ordering::Relaxed);
        let failed = recorder.put(frame(65, 1)).expect_err("nobody writes").to_string();
        assert_eq!(failed, "a.nst: the recording ends after 7 frames");
        assert!(!recorder.put(frame(66, 1)).expect("it was told once"));
        assert!(recorder.finish().expect("it was told").is_none());
    }

    #[test]
    fn random_access_frames_are_kept_every_two_seconds_and_eight_frames_and_asked_for_unless_the_picture_stays() {
        let size = Size::new(64, 48).expect("a size");
        let population = Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(1_000_000));
        let settings = VideoSettings { size, rate: header().rate, population, threads: 1 };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
        let mut frame = |number: u64, shade: u8, has: bool| {
            let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
            picture.samples_mut()[..1000].fill(shade);
            let bytes = encoder.encode(&picture).expect("its size").bytes;
            let random_access = has.then(|| Bytes::from_static(b"begin"));
            Recorded::Frame(RecordedFrame { number, captured: number * 250_000, bytes, random_access })
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.nst");
        let mut recorder = Recorder::create(&path, &header(), None).expect("a file");
        let asked: Vec<u64> = (0..24)
            .filter(|number| {
                // The picture stays from the twelfth frame on. Frames 9 to 12 can be begun with.
                let next =
                    frame(*number, u8::try_from(*number.min(&12)).expect("small") * 9, (9..=12).contains(number));
                assert!(recorder.put(next).expect("room"));
                recorder.needs_random_access()
            })
            .collect();
        assert_eq!(asked, [8]);
        recorder.finish().expect("room");
        let mut reader = Reader::new(File::open(&path).expect("a file"), u64::MAX).expect("a video");
        let positions = reader.positions().expect("it seeks");
        let begins: Vec<_> = positions.iter().filter(|position| position.has_random_access()).collect();
        assert_eq!(begins.iter().map(|position| position.number).collect::<Vec<_>>(), [9]);
        reader.begin_at(begins[0]).expect("it seeks");
        assert_eq!((reader.next_number(), reader.next_frame().expect("whole").as_deref()), (9, Some(&b"begin"[..])));
        assert_eq!(reader.captured(), Some(9 * 250_000));
        let next = reader.next_frame().expect("whole").expect("a frame");
        reader.go_to(&positions[10]).expect("it seeks");
        assert_eq!(reader.next_frame().expect("whole").expect("a frame"), next);
    }

    #[test]
    fn a_recording_that_is_not_wanted_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.nst");
        let mut recorder = Recorder::create(&path, &header(), None).expect("a file");
        assert!(recorder.put(frame(0, 100)).expect("room"));
        recorder.discard();
        assert!(!path.exists());
    }

    #[test]
    fn sound_is_between_the_frames_that_were_captured_around_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.nst");
        let mut recorder = Recorder::create(&path, &header(), Some(2)).expect("a file");
        for number in 0..50 {
            // Frames come later than sound.
            for captured in [number + 2, number + 3].map(|at| at * 20_000 + number * 20_000) {
                let bytes = Bytes::from_static(&[9; 20]);
                assert!(recorder.put(Recorded::Sound(StoredSound { captured, bytes })).expect("room"));
            }
            assert!(recorder.put(frame(number, 100)).expect("room"));
        }
        for bytes in [Bytes::new(), vec![9; 1277].into()] {
            let sound = StoredSound { captured: 0, bytes };
            assert!(!recorder.put(Recorded::Sound(sound)).expect("it goes on"), "a reader would drop it");
        }
        let written = recorder.finish().expect("room").expect("it did not fail");
        assert_eq!((written.frames, written.sound_packets), (50, 100));
        let mut reader = Reader::new(File::open(&path).expect("a file"), u64::MAX).expect("a video");
        assert_eq!(reader.begin_sound().expect("whole"), Some(2));
        let mut packets = 0;
        while reader.next_frame().expect("whole").is_some() {
            let captured = reader.captured().expect("it has one");
            for sound in reader.take_sound() {
                packets += 1;
                assert!(sound.captured <= captured && sound.captured + 40_000 >= captured, "{sound:?} at {captured}");
            }
        }
        assert_eq!(packets + reader.take_sound().count(), 100);
    }
}
