//! A stored video that receivers may begin anywhere.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestcast_codec::VideoHeader;
use nestcast_media::stored::{Error, Position, Reader};
use nestcast_proto::{Archive, FrameStream, OpenedArchive, Sound, SourceError, Start};

use super::base_layers::WINDOW_FRAMES;
use super::schedule::Schedule;
use super::{Replay, replaced};
use crate::error::PictureError;

/// How much earlier than asked a receiver may begin, so that nothing need be decoded first.
const MAX_EARLIER: Duration = Duration::from_millis(2500);
/// The most base layers that are decoded after a random-access frame of the file: those of a minute with 30 frames a
/// second. There are many only where a picture stays, and then they are small.
const MAX_BASE_LAYERS: usize = 1800;

/// Opens the file anew.
type Open<R> = Arc<dyn Fn() -> io::Result<R> + Send + Sync>;
/// Returns when the file was changed, if the system says so.
type Changed = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

/// A file with a stored video, for receivers that begin anywhere in it, counted from its beginning or back from where the
/// broadcast is. The first of them lets this look through the file
/// for the places of frames, and so does the first after the file has changed. A file that has become another video is
/// refused: receivers know the size and the sound of the one before.
pub struct StoredArchive<R> {
    name: String,
    max_pixels: u64,
    open: Open<R>,
    /// Whether the video begins again when it ends.
    repeats: bool,
    /// How far the broadcast is in the video, in microseconds.
    place: Arc<AtomicU64>,
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
    /// Whether a receiver can begin with it without those before.
    begins: bool,
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
            place: Arc::clone(&replay.place),
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

    /// Returns the first frame to read, so that the second can be the first that is shown. Returns `None` if the video has
    /// no frames.
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
        Ok(choose(places, after))
    }

    fn look_through(&self, input: R) -> Result<Vec<Place>, Error> {
        let mut reader = Reader::new(input, self.max_pixels)?;
        let mut schedule = Schedule::new(reader.header().rate.interval());
        let positions = reader.positions()?;
        // A video with random-access frames begins with a frame that is predicted from nothing.
        let mut begins = positions.iter().any(Position::has_random_access);
        let places = positions.into_iter().map(|position| {
            let begins = std::mem::take(&mut begins) || position.has_random_access();
            Place { due: schedule.next(position.captured), position, begins }
        });
        Ok(places.collect())
    }
}

/// Chooses the first frame to read and the first to show, for a receiver that asks for this moment. Both are the last one
/// with which it can begin, if that is due soon before. If not, the receiver sees the last frame that is due by then.
fn choose(places: &[Place], after: Duration) -> Option<(Place, Place)> {
    let at = places.partition_point(|place| place.due <= after).saturating_sub(1);
    let shown = *places.get(at)?;
    let begins = places[..=at].iter().rev().take(MAX_BASE_LAYERS).find(|place| place.begins).copied();
    let near = begins.filter(|begins| shown.due.saturating_sub(begins.due) <= MAX_EARLIER);
    let first = begins.filter(|begins| begins.position.has_random_access());
    // Without frames that renew, base layers alone come to the reference of the others from a key frame on.
    let window = &places[at.saturating_sub(WINDOW_FRAMES - 1)..=at];
    let whole = || places[..=at].iter().rev().find(|place| place.position.is_key()).unwrap_or(&places[0]);
    let usual = || *if window.iter().all(|place| place.position.renews()) { &window[0] } else { whole() };
    Some(near.map_or_else(|| (first.unwrap_or_else(usual), shown), |near| (near, near)))
}

impl<R: Read + Seek + Send + 'static> Archive for StoredArchive<R> {
    fn open(&self, start: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        let now = Duration::from_micros(self.place.load(Ordering::Relaxed));
        let after = match start {
            Start::AfterBeginning(after) => after,
            Start::BeforeNow(before) => now.saturating_sub(before),
        };
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
        let granted = match start {
            Start::AfterBeginning(_) => Start::AfterBeginning(shown.due),
            Start::BeforeNow(_) => Start::BeforeNow(now.saturating_sub(shown.due)),
        };
        Ok(begins.then(|| (Box::new(replay) as Box<dyn FrameStream>, granted)))
    }
}

#[cfg(test)]
mod tests;
