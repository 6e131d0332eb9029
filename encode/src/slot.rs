//! A slot for one picture, between a thread that has pictures and the thread that encodes them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nestcast_codec::Picture;
use nestcast_proto::{SourceError, StreamPicture};

use crate::format::PictureFormat;
use crate::source::{PictureSource, Pictures};

/// A slot for one picture. Whoever gets pictures from outside, by a callback or from another language, puts them here;
/// the encoder's thread takes them. Clones are the same slot; dropping the last one closes it.
///
/// A source that cannot wait calls [`replace`](Self::replace): the encoder gets the newest picture. A source that can
/// wait calls [`offer`](Self::offer): the encoder gets every picture, at the frame rate of its driver.
///
/// ```
/// use std::time::Duration;
/// use nestcast_codec::{Format, FrameRate, Picture, Size};
/// use nestcast_encode::{Offered, PictureFormat, PictureSlot};
/// use nestcast_proto::PictureStream as _;
///
/// let format = PictureFormat::new(Size::new(4, 2)?, Format::Grey, FrameRate::new(30, 1)?);
/// let (slot, mut pictures) = PictureSlot::open(format); // a driver encodes `pictures` on a thread of its own
/// let picture = slot.spent().unwrap_or_else(|| Picture::zero(Size::new(4, 2).unwrap(), Format::Grey)); // draw into it
/// assert_eq!(slot.offer(picture, Duration::MAX), Offered::Accepted);
/// slot.close();
/// assert!(pictures.next(None)?.is_some());
/// assert!(pictures.next(None)?.is_none(), "the last picture was taken");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PictureSlot(Arc<Giver>);

/// The side of a slot that gives pictures, shared by its clones.
#[derive(Debug)]
struct Giver(Arc<Slot>);

impl Drop for Giver {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What became of a picture that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offered {
    /// The encoder takes it next.
    Accepted,
    /// The encoder takes it next, and never takes the picture before it.
    Replaced,
    /// The encoder did not take the picture before it in time, or the wait was interrupted. The picture is given back.
    Refused(StreamPicture<Picture>),
    /// The slot is closed, or the broadcast is over: the encoder takes no picture any more.
    Ended,
}

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: Option<StreamPicture<Picture>>,
    /// A picture whose memory can be used again.
    spent: Option<Picture>,
    /// No further pictures come.
    is_closed: bool,
    /// Nobody takes pictures any more.
    is_over: bool,
    is_interrupted: bool,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    fn end(&self) {
        self.change(|state| (state.is_closed, state.is_over) = (true, true));
    }
}

impl PictureSlot {
    /// Returns an empty slot, and the pictures that are put into it. Each must have the format `format`; another one
    /// breaks the pictures off. Dropping the pictures [ends](Self::end) the slot.
    #[must_use]
    pub fn open(format: PictureFormat) -> (Self, Pictures) {
        let slot = Arc::new(Slot::default());
        (Self(Arc::new(Giver(Arc::clone(&slot)))), Pictures::new(Taken { slot, format }))
    }

    /// Returns a picture that was encoded or replaced, to draw the next one into its memory.
    #[must_use]
    pub fn spent(&self) -> Option<Picture> {
        self.slot().lock().spent.take()
    }

    /// Hands over the next picture. Waits until the encoder has taken the one before, at most for `patience`;
    /// [`Duration::MAX`] waits for ever.
    pub fn offer(&self, picture: impl Into<StreamPicture<Picture>>, patience: Duration) -> Offered {
        let is_full =
            |state: &mut State| state.next.is_some() && !state.is_closed && !state.is_over && !state.is_interrupted;
        let waited = self.slot().changed.wait_timeout_while(self.slot().lock(), patience, is_full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let is_full = state.next.is_some();
        self.put(&mut state, picture.into(), is_full)
    }

    /// Hands over the next picture at once. If the encoder has not taken the one before, it never does.
    pub fn replace(&self, picture: impl Into<StreamPicture<Picture>>) -> Offered {
        self.put(&mut self.slot().lock(), picture.into(), false)
    }

    fn put(&self, state: &mut State, picture: StreamPicture<Picture>, is_full: bool) -> Offered {
        if state.is_closed || state.is_over {
            return Offered::Ended;
        }
        if is_full || state.is_interrupted {
            return Offered::Refused(picture);
        }
        let before = state.next.replace(picture);
        self.slot().changed.notify_all();
        match before {
            Some(before) => {
                state.spent = Some(before.picture);
                Offered::Replaced
            }
            None => Offered::Accepted,
        }
    }

    /// Interrupts [`offer`](Self::offer) where it waits, and refuses pictures, until this is called with `false`.
    pub fn set_interrupted(&self, is_interrupted: bool) {
        self.slot().change(|state| state.is_interrupted = is_interrupted);
    }

    /// Drops a picture that the encoder has not taken.
    pub fn clear(&self) {
        self.slot().change(|state| state.next = None);
    }

    /// Ends the pictures after the one that is in the slot.
    pub fn close(&self) {
        self.slot().close();
    }

    /// Says that the encoder takes no picture any more, because the broadcast is over. Both ends stop waiting.
    pub fn end(&self) {
        self.slot().end();
    }

    fn slot(&self) -> &Slot {
        &self.0.0
    }
}

/// The pictures of a slot as a source.
struct Taken {
    slot: Arc<Slot>,
    format: PictureFormat,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.slot.end();
    }
}

impl PictureSource for Taken {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        let mut state = self.slot.lock();
        if spent.is_some() {
            state.spent = spent;
        }
        let is_empty = |state: &mut State| state.next.is_none() && !state.is_closed;
        let mut state = self.slot.changed.wait_while(state, is_empty).unwrap_or_else(PoisonError::into_inner);
        let next = state.next.take();
        self.slot.changed.notify_all();
        Ok(next)
    }
}
