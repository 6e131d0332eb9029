//! A stored video that receivers may begin anywhere.

use std::io::{self, Read, Seek};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestcast_media::stored::{Position, Reader};
use nestcast_proto::{Archive, FrameStream, OpenedArchive, SourceError, Start};

use super::Replay;
use super::base_layers::WINDOW;
use super::schedule::Schedule;
use crate::error::PictureError;

/// Opens the file anew.
type Open<R> = Arc<dyn Fn() -> io::Result<R> + Send + Sync>;

/// A file with a stored video, for receivers that begin anywhere in it. The first of them lets this look through the file
/// for the places of frames.
pub struct StoredArchive<R> {
    name: String,
    max_pixels: u64,
    open: Open<R>,
    /// Whether the video begins again when it ends.
    repeats: bool,
    places: Mutex<Option<Vec<Place>>>,
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
    /// Makes an archive of the file that `open` opens, which messages call `name`. `repeats` says whether a receiver goes
    /// on with the first frame after the last.
    #[must_use]
    pub fn new(
        name: &str,
        max_pixels: u64,
        repeats: bool,
        open: impl Fn() -> io::Result<R> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), max_pixels, open: Arc::new(open), repeats, places: Mutex::default() }
    }

    /// Returns the first frame to read, so that the second can be the first that is shown: the last one that is due by
    /// then. Returns `None` if the video has no frames.
    fn find(&self, after: Duration) -> Result<Option<(Place, Place)>, PictureError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let places = match &mut *places {
            Some(places) => places,
            none => none.insert(self.look_through()?),
        };
        let at = places.partition_point(|place| place.due <= after).saturating_sub(1);
        let first = at.saturating_sub(WINDOW - 1);
        Ok(places.get(first).copied().zip(places.get(at).copied()))
    }

    fn look_through(&self) -> Result<Vec<Place>, PictureError> {
        let refuse = |error| PictureError::StoredVideo { name: self.name.clone(), error };
        let input = (self.open)().map_err(|error| refuse(error.into()))?;
        let mut reader = Reader::new(input, self.max_pixels).map_err(refuse)?;
        let mut schedule = Schedule::new(reader.header().rate.interval());
        let positions = reader.positions().map_err(refuse)?;
        Ok(positions.into_iter().map(|position| Place { due: schedule.next(position.captured), position }).collect())
    }
}

impl<R: Read + Seek + Send + 'static> Archive for StoredArchive<R> {
    fn open(&self, start: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        let Start::AfterBeginning(after) = start else { return Ok(None) };
        let refuse = |error| SourceError::broken_off(PictureError::StoredVideo { name: self.name.clone(), error });
        let Some((first, shown)) = self.find(after).map_err(SourceError::broken_off)? else { return Ok(None) };
        let input = (self.open)().map_err(|error| refuse(error.into()))?;
        let open = Arc::clone(&self.open);
        let again = self.repeats.then(|| Box::new(move || open()) as Box<dyn FnMut() -> _ + Send>);
        let mut replay = Replay::new(&self.name, self.max_pixels, input, again).map_err(SourceError::broken_off)?;
        let begins = replay.begin_at(&first.position, &shown.position, has_left).map_err(refuse)?;
        Ok(begins.then(|| (Box::new(replay) as Box<dyn FrameStream>, Start::AfterBeginning(shown.due))))
    }
}
