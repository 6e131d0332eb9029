//! The source that encodes pictures: two threads that never wait for the network, and the only file that knows the codec.
//!
//! ```text
//! Pictures (thread, at their rate) -> newest picture -> encoder (thread) -> frames
//! ```
//!
//! An encoder that is late finds the newest picture; those before it are skipped and counted.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_codec::{Channels, EncodeError, Encoder, ModelId, Picture, Size};
use nestcast_media::y4m::{self, Rate, Reader};
use nestcast_proto::{Frame, PackageHash, Welcome};
use tokio::sync::mpsc;

use crate::feedback::Feedback;
use crate::newest::Newest;
use crate::source::{FrameSource, SourceError};

/// Bounds of a picture's base: a thumbnail of the smallest picture, and what one packet takes.
const MIN_BASE_BYTES: usize = 64;
const MAX_BASE_BYTES: usize = 1000;
/// Samples for each byte of a base: 0.05 bits a pixel of RGB show the whole of a picture.
const SAMPLES_PER_BASE_BYTE: usize = 480;

/// Pictures that wait to be overwritten: one is read while another is encoded, and one is kept to compare with.
const MAX_SPENT_PICTURES: usize = 2;

/// Why pictures cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A video cannot be read.
    #[error("{name}: {error}")]
    Video {
        /// The video's name.
        name: String,
        /// What is wrong with it.
        error: y4m::Error,
    },
    /// A picture has another size than was announced.
    #[error(
        "a picture is {}x{} where those before it were {}x{}: scale them to one size",
        given.width(), given.height(), announced.width(), announced.height()
    )]
    Size {
        /// The picture's size.
        given: Size,
        /// That of the pictures before it.
        announced: Size,
    },
    /// A picture cannot be encoded.
    #[error("a picture cannot be encoded: {0}")]
    Encode(#[from] EncodeError),
}

/// Gives the next picture; it may be made of the one that is handed over, which nobody needs any more.
type NextPicture = Box<dyn FnMut(Option<Picture>) -> Result<Option<Picture>, SourceError> + Send>;

/// A sequence of pictures of one size at one rate.
pub struct Pictures {
    size: Size,
    rate: Rate,
    next: NextPicture,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pictures").field("size", &self.size).field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl Pictures {
    /// Pictures that `next` gives, all of `size`; they end with the first `None`.
    pub fn new(
        size: Size,
        rate: Rate,
        mut next: impl FnMut() -> Result<Option<Picture>, SourceError> + Send + 'static,
    ) -> Self {
        Self { size, rate, next: Box::new(move |_| next()) }
    }

    /// One picture, again and again.
    pub fn still(picture: Picture, rate: Rate) -> Self {
        Self::new(picture.size(), rate, move || Ok(Some(picture.clone())))
    }

    /// y4m at its own rate, its pictures planar or grey as [`Reader`] gives them. `again` opens it anew when it ends, to begin from its first picture.
    ///
    /// # Errors
    /// If it is no y4m that can be read, or a picture has more than `max_pixels`.
    pub fn video<R: Read + Send + 'static>(
        name: &str,
        max_pixels: u64,
        input: R,
        mut again: Option<Box<dyn FnMut() -> std::io::Result<R> + Send>>,
    ) -> Result<Self, PictureError> {
        let name = name.to_owned();
        let failed = move |error| PictureError::Video { name: name.clone(), error };
        let mut reader = Reader::new(input, max_pixels).map_err(&failed)?;
        let (size, rate) = (reader.size(), reader.rate());
        let mut next = move |spent: Option<Picture>| {
            let mut picture = spent.unwrap_or_else(|| Picture::zero(size, reader.format()));
            if reader.read_into(&mut picture)? {
                return Ok(Some(picture));
            }
            let Some(again) = &mut again else { return Ok(None) };
            reader = Reader::new(again()?, max_pixels)?;
            if reader.size() != size {
                return Err(y4m::Error::Corrupt("it has another size than before"));
            }
            Ok(reader.read_into(&mut picture)?.then_some(picture))
        };
        let next = move |spent: Option<Picture>| next(spent).map_err(|error| SourceError::broken_off(failed(error)));
        Ok(Self { size, rate, next: Box::new(next) })
    }

    /// The size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The next picture, if it has the size that was announced, in the memory of `spent` if that serves.
    fn next(&mut self, spent: Option<Picture>) -> Result<Option<Picture>, SourceError> {
        let announced = self.size;
        match (self.next)(spent)? {
            Some(picture) if picture.size() != announced => {
                Err(SourceError::broken_off(PictureError::Size { given: picture.size(), announced }))
            }
            other => Ok(other),
        }
    }
}

/// How pictures are encoded, and the model that goes with it.
pub struct Encoding {
    model: ModelId,
    hash: PackageHash,
    encoder: Encoder,
    /// The most bytes of a frame, whatever is of use.
    max_bytes: usize,
    package: Option<Bytes>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoding").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Encoding {
    /// Encodes with the transform of the package `hash`.
    #[must_use]
    pub fn new(hash: PackageHash, encoder: Encoder) -> Self {
        let (model, max_bytes) = (encoder.model().id(), encoder.max_bytes());
        Self { model, hash, encoder, max_bytes, package: None }
    }

    /// Gives `package`, which has the hash, to receivers that ask for it.
    #[must_use]
    pub fn with_package(mut self, package: Bytes) -> Self {
        self.package = Some(package);
        self
    }

    /// The most bytes of a frame of which so many are of use.
    fn limit(&self, useful_bytes: u64) -> usize {
        usize::try_from(useful_bytes).unwrap_or(usize::MAX).min(self.max_bytes)
    }

    fn encode(&mut self, picture: &Picture, limit: usize) -> Result<Bytes, PictureError> {
        self.encoder.set_max_bytes(limit);
        Ok(self.encoder.encode(picture)?.bytes().clone())
    }
}

/// Pictures as frames.
#[derive(Debug)]
pub struct EncodedPictures {
    welcome: Welcome,
    package: Option<Bytes>,
    state: State,
}

#[derive(Debug)]
enum State {
    Ready(Box<(Pictures, Encoding)>),
    Running(Running),
    Ended,
}

impl EncodedPictures {
    /// Nothing is read or encoded before the first frame is asked for.
    ///
    /// # Panics
    /// If a side is longer than a [`Size`] allows.
    #[must_use]
    pub fn new(pictures: Pictures, encoding: Encoding) -> Self {
        let side = |length: usize| u32::try_from(length).expect("a size has sides of 16384 pixels at most");
        let welcome = Welcome {
            model: encoding.model.0,
            package: encoding.hash,
            width: side(pictures.size.width()),
            height: side(pictures.size.height()),
            rate: (pictures.rate.frames(), pictures.rate.seconds()),
        };
        let package = encoding.package.clone();
        Self { welcome, package, state: State::Ready(Box::new((pictures, encoding))) }
    }
}

impl FrameSource for EncodedPictures {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn package(&self) -> Option<Bytes> {
        self.package.clone()
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ready(work) => State::Running(Running::start(work.0, work.1, feedback.clone())),
            other => other,
        };
        let State::Running(running) = &mut self.state else { return Ok(None) };
        if let Some(frame) = running.frames.recv().await {
            return Ok(Some(frame));
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Running(running) => running.join().await.map(|()| None),
            _ => Ok(None),
        }
    }

    fn stop(&mut self) {
        match &mut self.state {
            State::Running(running) => {
                running.stopped = true;
                running.slot.close();
            }
            state => *state = State::Ended,
        }
    }
}

/// The threads at work. They end when it is dropped; one that waits for its input is left behind.
#[derive(Debug)]
struct Running {
    frames: mpsc::Receiver<Frame>,
    slot: Arc<Newest<Captured>>,
    stopped: bool,
    threads: Option<[JoinHandle<Result<(), SourceError>>; 2]>,
}

impl Running {
    fn start(pictures: Pictures, mut encoding: Encoding, feedback: Feedback) -> Self {
        let slot: Arc<Newest<Captured>> = Arc::default();
        let (outlet, frames) = mpsc::channel(1);
        let (spend, spent) = sync_channel(MAX_SPENT_PICTURES);
        let (filling, emptying) = (Arc::clone(&slot), Arc::clone(&slot));
        let reading = thread::spawn(move || {
            let _close = filling.close_on_drop();
            read(pictures, &filling, &spent)
        });
        let encoding = thread::spawn(move || {
            let _close = emptying.close_on_drop();
            encode(&mut encoding, &feedback, &emptying, (&outlet, &spend))
        });
        Self { frames, slot, stopped: false, threads: Some([encoding, reading]) }
    }

    /// How it ended, once the encoder did. A picture that cannot be encoded ends the reading with the next picture.
    async fn join(mut self) -> Result<(), SourceError> {
        let Some([encoding, reading]) = self.threads.take() else { return Ok(()) };
        if self.stopped && !reading.is_finished() {
            return Ok(());
        }
        let ended = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let both = tokio::task::spawn_blocking(move || ended(encoding).and_then(|()| ended(reading)));
        both.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.slot.close();
    }
}

/// A picture that waits to be encoded.
#[derive(Debug)]
struct Captured {
    id: u64,
    /// Microseconds since 1970.
    at: u64,
    picture: Picture,
}

/// Captures pictures, in the memory of those that are `spent`.
fn read(mut pictures: Pictures, slot: &Newest<Captured>, spent: &Receiver<Picture>) -> Result<(), SourceError> {
    let interval = pictures.rate.interval();
    let mut due = Instant::now();
    let mut skipped = None;
    for id in 0.. {
        let Some(picture) = pictures.next(skipped.take().or_else(|| spent.try_recv().ok()))? else { break };
        let now = Instant::now();
        match due.checked_duration_since(now) {
            Some(early) => thread::sleep(early),
            // A live source that lags sets the pace.
            None if now - due > interval => due = now,
            None => {}
        }
        due += interval;
        if slot.is_closed() {
            break;
        }
        skipped = slot.put(Captured { id, at: microseconds(), picture }).map(|captured| captured.picture);
    }
    Ok(())
}

fn encode(
    encoding: &mut Encoding,
    feedback: &Feedback,
    slot: &Newest<Captured>,
    (frames, spend): (&mpsc::Sender<Frame>, &SyncSender<Picture>),
) -> Result<(), SourceError> {
    let mut last: Option<(Captured, Frame, usize)> = None;
    let mut skipped = 0;
    while let Some(captured) = slot.take() {
        let before = last.as_ref().map_or(0, |(last, ..)| last.id + 1);
        skipped += captured.id.saturating_sub(before);
        let start = Instant::now();
        let limit = encoding.limit(feedback.useful_bytes());
        let (bytes, base, limit) = match &last {
            // A still picture is encoded again only if more of it is of use.
            Some((same, frame, before)) if *before >= limit && same.picture == captured.picture => {
                (frame.bytes.clone(), frame.base, *before)
            }
            _ => {
                let bytes = encoding.encode(&captured.picture, limit).map_err(SourceError::failed)?;
                let base = base_bytes(captured.picture.size(), captured.picture.channels()).min(bytes.len());
                (bytes, base, limit)
            }
        };
        feedback.handle_encoded(start.elapsed());
        let frame = Frame { id: captured.id, skipped, captured: captured.at, base, bytes };
        if frames.blocking_send(frame.clone()).is_err() {
            break;
        }
        if let Some((before, ..)) = last.replace((captured, frame, limit)) {
            // One that finds no room is given up.
            let _ = spend.try_send(before.picture);
        }
    }
    Ok(())
}

/// Bytes of the base of a picture.
fn base_bytes(size: Size, channels: Channels) -> usize {
    (size.pixels() * channels.count() / SAMPLES_PER_BASE_BYTE).clamp(MIN_BASE_BYTES, MAX_BASE_BYTES)
}

/// Now, in microseconds since 1970.
fn microseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Format, Range};

    use super::*;

    #[test]
    fn a_video_is_planar_and_read_into_what_is_spent() {
        const VIDEO: &[u8] = b"YUV4MPEG2 W2 H2 F30:1 C420\nFRAME\n123456FRAME\nabcdef";
        let again = || Ok(VIDEO);
        let mut pictures = Pictures::video("clip", 100, VIDEO, Some(Box::new(again))).expect("y4m");
        let first = pictures.next(None).expect("a picture").expect("one");
        assert_eq!((first.format(), first.samples()), (Format::Ycbcr420(Range::Limited), &b"123456"[..]));
        let memory = first.samples().as_ptr();
        let second = pictures.next(Some(first)).expect("a picture").expect("one");
        assert_eq!((second.samples(), second.samples().as_ptr()), (&b"abcdef"[..], memory));
        let third = pictures.next(Some(second)).expect("a picture").expect("it begins again");
        assert_eq!((third.samples(), third.samples().as_ptr()), (&b"123456"[..], memory));
    }
}
