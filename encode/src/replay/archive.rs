//! A stored video that receivers may begin anywhere.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestcast_codec::VideoHeader;
use nestcast_media::stored::{Error, Position, Reader};
use nestcast_proto::{Archive, FrameStream, OpenedArchive, Sound, SourceError, Start};

use super::base_layers::WINDOW_FRAMES;
use super::schedule::Schedule;
use super::{Replay, replaced};
use crate::error::PictureError;

/// Opens the file anew.
type Open<R> = Arc<dyn Fn() -> io::Result<R> + Send + Sync>;
/// Returns when the file was changed, if the system says so.
type Changed = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

/// A file with a stored video, for receivers that begin anywhere in it. The first of them lets this look through the file
/// for the places of frames, and so does the first after the file has changed. A file that has become another video is
/// refused: receivers know the size and the sound of the one before.
pub struct StoredArchive<R> {
    name: String,
    max_pixels: u64,
    open: Open<R>,
    /// Whether the video begins again when it ends.
    repeats: bool,
    /// What receivers know of the video.
    original: (VideoHeader, Option<Sound>),
    changed: Option<Changed>,
    places: Mutex<Option<Places>>,
}

/// The places of a file's frames.
struct Places {
    file: Stamp,
    all: Vec<Place>,
}

/// What tells a file from the one that had its name before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: Option<Duration>,
}

/// A frame: when it is due, and where it is.
#[derive(Debug, Clone, Copy)]
struct Place {
    due: Duration,
    position: Position,
}

impl<R> std::fmt::Debug for StoredArchive<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredArchive").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R: Read + Seek + Send + 'static> StoredArchive<R> {
    /// Makes an archive of the video that `replay` broadcasts, whose file `open` opens. A receiver goes on with the first
    /// frame after the last if `replay` does.
    #[must_use]
    pub fn new(replay: &Replay<R>, open: impl Fn() -> io::Result<R> + Send + Sync + 'static) -> Self {
        Self {
            name: replay.name.clone(),
            max_pixels: replay.max_pixels,
            open: Arc::new(open),
            repeats: replay.again.is_some(),
            original: (*replay.reader.header(), replay.sound),
            changed: None,
            places: Mutex::default(),
        }
    }

    /// Lets `changed` say when the file was changed, as a time since any moment. Without it, a change shows in the file's length
    /// alone.
    #[must_use]
    pub fn with_time_of_change(mut self, changed: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.changed = Some(Box::new(changed));
        self
    }

    /// Returns the first frame to read, so that the second can be the first that is shown: the last one that is due by
    /// then. Returns `None` if the video has no frames.
    fn find(&self, after: Duration) -> Result<Option<(Place, Place)>, Error> {
        let changed = self.changed.as_ref().and_then(|changed| changed());
        let mut input = (self.open)()?;
        let file = Stamp { bytes: input.seek(SeekFrom::End(0))?, changed };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.as_ref().is_none_or(|places| places.file != file) {
            input.rewind()?;
            *places = Some(Places { file, all: self.look_through(input)? });
        }
        let places = places.as_ref().map_or(&[][..], |places| &places.all);
        let at = places.partition_point(|place| place.due <= after).saturating_sub(1);
        let first = at.saturating_sub(WINDOW_FRAMES - 1);
        Ok(places.get(first).copied().zip(places.get(at).copied()))
    }

    fn look_through(&self, input: R) -> Result<Vec<Place>, Error> {
        let mut reader = Reader::new(input, self.max_pixels)?;
        let mut schedule = Schedule::new(reader.header().rate.interval());
        let positions = reader.positions()?;
        Ok(positions.into_iter().map(|position| Place { due: schedule.next(position.captured), position }).collect())
    }
}

impl<R: Read + Seek + Send + 'static> Archive for StoredArchive<R> {
    fn open(&self, start: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        let Start::AfterBeginning(after) = start else { return Ok(None) };
        let refuse = |error| SourceError::broken_off(PictureError::StoredVideo { name: self.name.clone(), error });
        let input = (self.open)().map_err(|error| refuse(error.into()))?;
        let open = Arc::clone(&self.open);
        let again = self.repeats.then(|| Box::new(move || open()) as Box<dyn FnMut() -> _ + Send>);
        let mut replay = Replay::new(&self.name, self.max_pixels, input, again).map_err(SourceError::broken_off)?;
        if (*replay.reader.header(), replay.sound) != self.original {
            return Err(refuse(replaced()));
        }
        let Some((first, shown)) = self.find(after).map_err(refuse)? else { return Ok(None) };
        let begins = replay.begin_at(&first.position, &shown.position, has_left).map_err(refuse)?;
        Ok(begins.then(|| (Box::new(replay) as Box<dyn FrameStream>, Start::AfterBeginning(shown.due))))
    }
}
