//! Where frames are made: a stream of pictures, and an encoder that makes a frame of each.
//!
//! Both are without clock and thread. A driver owns those: it reads the stream, notes when pictures were captured, skips pictures
//! while the encoder is busy, and measures how long encoding takes. `nestcast-sender` has such a driver, `LiveSource`;
//! `nestcast-encode` has streams and encoders. Another codec needs a [`FrameEncoder`] of its own and nothing else.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;

use crate::demand::Demand;
use crate::publish::rendition::BroadcastFrame;
use crate::wire::message::Welcome;

/// Why a source has no more frames.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The input broke off, or gave what cannot be used; receivers are told [`Code::Source`](crate::Code::Source).
    #[error(transparent)]
    BrokenOff(Box<dyn StdError + Send + Sync>),
    /// A frame cannot be made; receivers are told [`Code::Failed`](crate::Code::Failed).
    #[error(transparent)]
    Failed(Box<dyn StdError + Send + Sync>),
}

impl SourceError {
    /// The input broke off.
    pub fn broken_off(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::BrokenOff(cause.into())
    }

    /// A frame cannot be made.
    pub fn failed(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

/// A picture of a stream, and when it was captured if the stream knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPicture<P> {
    /// The picture.
    pub picture: P,
    /// When it was captured, in microseconds since 1970-01-01 UTC by the driver's clock. A driver takes the moment at which it got the
    /// picture if there is none.
    pub captured: Option<u64>,
}

impl<P> From<P> for StreamPicture<P> {
    /// A picture that was captured just now.
    fn from(picture: P) -> Self {
        Self { picture, captured: None }
    }
}

/// A picture that waits to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<P> {
    /// Its number in the stream.
    pub id: u64,
    /// When it was captured, in microseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The picture.
    pub picture: P,
}

/// Pictures one after another, as a camera or a file gives them.
pub trait PictureStream: Send {
    /// A picture, of whatever kind the encoder takes.
    type Picture: Send + 'static;

    /// How long a driver should wait from one picture to the next; none if [`next`](Self::next) itself returns
    /// when a picture is there, as a camera does.
    fn interval(&self) -> Option<Duration>;

    /// Returns the next picture, or none at the end. It may reuse the memory of `spent`, a picture that was encoded or skipped;
    /// one that it does not reuse it may drop.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if there are no more pictures though the stream has not ended.
    fn next(&mut self, spent: Option<Self::Picture>) -> Result<Option<StreamPicture<Self::Picture>>, SourceError>;
}

impl<S: PictureStream + ?Sized> PictureStream for Box<S> {
    type Picture = S::Picture;

    fn interval(&self) -> Option<Duration> {
        (**self).interval()
    }

    fn next(&mut self, spent: Option<Self::Picture>) -> Result<Option<StreamPicture<Self::Picture>>, SourceError> {
        (**self).next(spent)
    }
}

/// Makes a frame of each picture, for all receivers.
///
/// What a frame's bytes mean is between the encoder and the receivers' decoders. A session knows three things of them: any
/// prefix is worth something, the first [`Frame::base`](crate::Frame::base) bytes are worth the most, and frames are due one
/// every [`Welcome::interval`]. A frame that is of no use in part is all base.
pub trait FrameEncoder: Send {
    /// A picture, of whatever kind the stream gives.
    type Picture: Send + 'static;

    /// What receivers are told before the first frame. It stays the same.
    fn welcome(&self) -> Welcome;

    /// The model package that the welcome names, for receivers that lack it (spec, "Model package"); none if it
    /// is not handed out.
    fn package(&self) -> Option<Bytes> {
        None
    }

    /// Makes a frame of a picture, with as many bytes as `demand` has use for; `skipped` counts all pictures that were
    /// skipped so far. Also returns a picture whose memory is free, if there is one.
    ///
    /// # Errors
    /// [`SourceError::Failed`] if the picture cannot be encoded.
    fn encode(
        &mut self,
        captured: Captured<Self::Picture>,
        skipped: u64,
        demand: &Demand,
    ) -> Result<(BroadcastFrame, Option<Self::Picture>), SourceError>;

    /// Encoding the last frame took this long.
    fn handle_encode_time(&mut self, took: Duration) {
        let _ = took;
    }
}

impl<E: FrameEncoder + ?Sized> FrameEncoder for Box<E> {
    type Picture = E::Picture;

    fn welcome(&self) -> Welcome {
        (**self).welcome()
    }

    fn package(&self) -> Option<Bytes> {
        (**self).package()
    }

    fn encode(
        &mut self,
        captured: Captured<Self::Picture>,
        skipped: u64,
        demand: &Demand,
    ) -> Result<(BroadcastFrame, Option<Self::Picture>), SourceError> {
        (**self).encode(captured, skipped, demand)
    }

    fn handle_encode_time(&mut self, took: Duration) {
        (**self).handle_encode_time(took);
    }
}
