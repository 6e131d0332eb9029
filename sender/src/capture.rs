//! Pictures as they are captured, and two threads that make frames of them and never wait for the network.
//!
//! ```text
//! Pictures (thread, at their rate) -> newest picture -> encoder (thread) -> frames
//! ```
//!
//! An encoder that is late finds the newest picture; those before it are skipped and counted.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{EncodeError, Format, ModelId, Picture, Range, Size};
use nestcast_media::y4m::{self, Rate, Reader};
use nestcast_proto::{Frame, PackageHash, Video, Welcome};
use tokio::sync::mpsc;

use crate::clock;
use crate::feedback::Feedback;
use crate::newest::Newest;
use crate::source::{FrameSource, SourceError};

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
    /// Two files have pictures of other sizes.
    #[error(
        "{} is {}x{}, {} is {}x{}: the pictures of a broadcast have one size, scale them to it or move the others away",
        file.display(), given.width(), given.height(), first.display(), size.width(), size.height()
    )]
    Sizes {
        /// One file.
        file: PathBuf,
        /// The size of its picture.
        given: Size,
        /// The first file.
        first: PathBuf,
        /// The size of its picture.
        size: Size,
    },
    /// Not one picture can be read.
    #[error("it holds no picture that can be read")]
    NoPicture,
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
    /// Of planar ones.
    range: Range,
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
        Self { size, rate, range: Range::Full, next: Box::new(move |_| next()) }
    }

    /// One picture, again and again.
    pub fn still(picture: Picture, rate: Rate) -> Self {
        Self::new(picture.size(), rate, move || Ok(Some(picture.clone())))
    }

    /// y4m at its own rate, its pictures planar YCbCr 4:2:0, also of a grey one. `again` opens it anew when it ends, to begin
    /// from its first picture.
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
        let (size, rate, range) = (reader.size(), reader.rate(), reader.range());
        let mut next = move |spent: Option<Picture>| {
            let mut picture = spent.unwrap_or_else(|| Picture::zero(size, Format::Ycbcr420(range)));
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
        Ok(Self { size, rate, range, next: Box::new(next) })
    }

    /// The size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// What a broadcast of them announces.
    pub(crate) fn welcome(&self, model: ModelId, package: PackageHash, video: Option<Video>) -> Welcome {
        let side = |length: usize| u32::try_from(length).expect("a size has sides of 16384 pixels at most");
        let (width, height) = (side(self.size.width()), side(self.size.height()));
        let rate = (self.rate.frames(), self.rate.seconds());
        Welcome { model: model.0, package, width, height, rate, video }
    }

    /// Pictures in a second.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// The values that samples of planar pictures take.
    pub(crate) const fn range(&self) -> Range {
        self.range
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

/// What makes frames of pictures, one after another.
pub(crate) trait MakeFrames: Send {
    /// Encodes a picture; `skipped` counts all pictures that were skipped so far. Also gives a picture back whose memory is free.
    fn make(
        &mut self,
        captured: Captured,
        skipped: u64,
        feedback: &Feedback,
    ) -> Result<(Frame, Option<Picture>), SourceError>;

    /// Making the last frame took so long.
    fn handle_made(&mut self, took: Duration) {
        let _ = took;
    }
}

/// The source that encodes: pictures and what makes frames of them, by [`Capture::video`] or [`Capture::pictures`]. Nothing is read or
/// encoded before the first frame is asked for.
pub struct Capture {
    welcome: Welcome,
    package: Option<Bytes>,
    state: State,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}

enum State {
    Ready(Box<(Pictures, Box<dyn MakeFrames>)>),
    Running(Running),
    Ended,
}

impl Capture {
    pub(crate) fn new(
        welcome: Welcome,
        package: Option<Bytes>,
        pictures: Pictures,
        maker: impl MakeFrames + 'static,
    ) -> Self {
        Self { welcome, package, state: State::Ready(Box::new((pictures, Box::new(maker)))) }
    }
}

impl FrameSource for Capture {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn package(&self) -> Option<Bytes> {
        self.package.clone()
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ready(ready) => {
                let (pictures, maker) = *ready;
                State::Running(Running::start(pictures, maker, feedback.clone()))
            }
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
    fn start(pictures: Pictures, maker: Box<dyn MakeFrames>, feedback: Feedback) -> Self {
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
            encode(maker, &feedback, &emptying, &outlet, &spend)
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
pub(crate) struct Captured {
    pub(crate) id: u64,
    /// Microseconds since 1970.
    pub(crate) at: u64,
    pub(crate) picture: Picture,
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
        skipped = slot.put(Captured { id, at: clock::microseconds(), picture }).map(|captured| captured.picture);
    }
    Ok(())
}

/// Makes frames of the newest pictures, until there are no more or nobody takes them.
fn encode(
    mut maker: Box<dyn MakeFrames>,
    feedback: &Feedback,
    slot: &Newest<Captured>,
    frames: &mpsc::Sender<Frame>,
    spend: &SyncSender<Picture>,
) -> Result<(), SourceError> {
    let (mut next, mut skipped) = (0, 0);
    while let Some(captured) = slot.take() {
        skipped += captured.id.saturating_sub(next);
        next = captured.id + 1;
        let start = Instant::now();
        let (frame, spent) = maker.make(captured, skipped, feedback)?;
        let took = start.elapsed();
        feedback.handle_encoded(took);
        maker.handle_made(took);
        if frames.blocking_send(frame).is_err() {
            break;
        }
        // A picture that finds no room is given up.
        let _ = spent.map(|picture| spend.try_send(picture));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
