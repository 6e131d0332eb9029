//! Sources of frames: a stream of pictures, and an encoder that makes a frame of each.
//!
//! Frames that were encoded earlier are a [`FrameStream`].
//!
//! None of these has a clock or a thread. A driver has them: it reads the stream, notes when pictures were captured, skips
//! pictures while the encoder is busy, and measures encoding time. `LiveSource` of `nestcast-sender` is such a driver;
//! `nestcast-encode` has streams and encoders. To send another codec, implement [`FrameEncoder`] and nothing else.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;

use crate::cause::Cause;
use crate::demand::Demand;
use crate::publish::rendition::BroadcastFrame;
use crate::wire::message::Welcome;
use crate::wire::sound::Sound;
use crate::wire::start::Start;

/// Why a source has no more frames.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The input broke off or is unusable; receivers get [`Code::Source`](crate::Code::Source).
    #[error(transparent)]
    BrokenOff(Cause),
    /// A frame cannot be made; receivers get [`Code::Failed`](crate::Code::Failed).
    #[error(transparent)]
    Failed(Cause),
}

impl SourceError {
    /// Returns an error for input that broke off.
    pub fn broken_off(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::BrokenOff(Cause::new(cause))
    }

    /// Returns an error for a frame that cannot be made.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(Cause::new(cause))
    }
}

/// A picture of a stream, with its capture time if the stream knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPicture<P> {
    /// The picture.
    pub picture: P,
    /// The capture time, in microseconds since 1970-01-01 UTC by the driver's clock. If it is `None`, the driver uses
    /// the time at which it got the picture.
    pub captured: Option<u64>,
}

impl<P> From<P> for StreamPicture<P> {
    /// Makes a picture captured just now.
    fn from(picture: P) -> Self {
        Self { picture, captured: None }
    }
}

/// A picture that waits to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<P> {
    /// The picture's number in the stream.
    pub id: u64,
    /// The capture time, in microseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The picture.
    pub picture: P,
}

/// A sequence of pictures, such as a camera or a file.
pub trait PictureStream: Send {
    /// The type of a picture, which the encoder must accept.
    type Picture: Send + 'static;

    /// Returns how long a driver waits from one picture to the next. `None` means that [`next`](Self::next) itself
    /// waits for the next picture, as a camera does.
    fn interval(&self) -> Option<Duration>;

    /// Returns the next picture, or `None` at the end. It may reuse the memory of `spent`, a picture that was encoded
    /// or skipped, or drop it.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if the pictures stop before the stream's end.
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

/// Makes one frame of each picture, for all receivers.
///
/// The encoder and the receivers' decoders agree on what a frame's bytes mean. A session knows three things: any prefix
/// is useful, the first [`Frame::base`](crate::Frame::base) bytes (the base layer) are the most useful, and one frame
/// is due every [`Welcome::interval`]. If a part of a frame is useless, the whole frame is base layer.
pub trait FrameEncoder: Send {
    /// The type of a picture, as the stream returns it.
    type Picture: Send + 'static;

    /// Returns what receivers learn before the first frame. It must stay the same.
    fn welcome(&self) -> Welcome;

    /// Returns the model package that the welcome names, for receivers that lack it (spec, "Model package"); `None` if
    /// it is not sent.
    fn package(&self) -> Option<Bytes> {
        None
    }

    /// Encodes a picture into as many bytes as `demand` can use; `skipped` counts all pictures skipped so far. Also
    /// returns a picture whose memory is free, if there is one.
    ///
    /// # Errors
    /// [`SourceError::Failed`] if the picture cannot be encoded.
    fn encode(
        &mut self,
        captured: Captured<Self::Picture>,
        skipped: u64,
        demand: &Demand,
    ) -> Result<(BroadcastFrame, Option<Self::Picture>), SourceError>;

    /// Learns how long the last frame took to encode.
    fn handle_encode_time(&mut self, took: Duration) {
        let _ = took;
    }
}

/// A part of a [`MuxedStream`].
#[derive(Debug)]
pub enum MuxedPart<P> {
    /// A picture.
    Picture(P),
    /// A packet of 20 ms of sound.
    Sound(Bytes),
    /// No more sound comes, for this reason. Pictures go on.
    SoundFault(SourceError),
}

/// A part, with its time since the first one was due; `None` at the end.
pub type NextPart<P> = Option<(Duration, MuxedPart<P>)>;

/// Pictures and sound from one pipe or file, in its order and with the times that it states. So both stay in step
/// whatever comes late, stops or drifts.
pub trait MuxedStream: Send {
    /// The type of a picture, which the encoder must accept.
    type Picture: Send + 'static;

    /// Returns what receivers learn of the sound, if there is some. It must stay the same.
    fn sound(&self) -> Option<Sound> {
        None
    }

    /// Waits for the next part. It may take `spent`, a picture whose memory is free.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if the parts stop before the stream's end.
    fn next(&mut self, spent: &mut Option<Self::Picture>) -> Result<NextPart<Self::Picture>, SourceError>;
}

impl<S: MuxedStream + ?Sized> MuxedStream for Box<S> {
    type Picture = S::Picture;

    fn sound(&self) -> Option<Sound> {
        (**self).sound()
    }

    fn next(&mut self, spent: &mut Option<Self::Picture>) -> Result<NextPart<Self::Picture>, SourceError> {
        (**self).next(spent)
    }
}

/// Makes packets of the sound in a muxed file: of samples, or of packets as they are.
pub trait TimedSound: Send {
    /// Returns what receivers learn of it. It must stay the same.
    fn sound(&self) -> Sound;

    /// Returns by how much decoded sound is later than the sound that was encoded.
    fn lag(&self) -> Duration;

    /// Takes the bytes that the file has for the time from `at` on.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if they are no such sound.
    fn push(&mut self, at: Duration, bytes: &[u8]) -> Result<(), SourceError>;

    /// Returns the next packet of 20 ms and its time, if it is whole. A caller takes all packets before it pushes more.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if it cannot be encoded.
    fn pop(&mut self) -> Result<Option<(Duration, Bytes)>, SourceError>;

    /// Fills the last packet, because the file ends.
    fn finish(&mut self);
}

/// A sequence of packets of sound, such as a file or a pipe. A driver hands on one every 20 ms. A program that captures
/// sound itself hands on packets with their own times, and needs no such source.
pub trait SoundSource: Send {
    /// Returns what receivers learn of it. It must stay the same.
    fn sound(&self) -> Sound;

    /// Returns by how much decoded sound is later than the sound that was encoded.
    fn lag(&self) -> Duration;

    /// Returns the next packet of 20 ms, or `None` at the end. It waits for it, as long as that takes.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if the sound stops before its end.
    fn next(&mut self) -> Result<Option<Bytes>, SourceError>;
}

impl<S: SoundSource + ?Sized> SoundSource for Box<S> {
    fn sound(&self) -> Sound {
        (**self).sound()
    }

    fn lag(&self) -> Duration {
        (**self).lag()
    }

    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        (**self).next()
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

/// Frames that were encoded earlier, such as those of a stored video, with the times at which they are due.
///
/// A driver reads a frame, lets the stream prepare while there is time, and takes the frame when it is due. `PacedSource`
/// of `nestcast-sender` is such a driver. No frame is skipped: later ones may be predicted from it.
pub trait FrameStream: Send {
    /// Returns what receivers learn before the first frame. It must stay the same.
    fn welcome(&self) -> Welcome;

    /// Returns what receivers learn of the sound between the frames, if there is some. It must stay the same.
    fn sound(&self) -> Option<Sound> {
        None
    }

    /// Returns the next packet of sound that was read with the frames so far, and when it is due, as for a frame. A
    /// driver calls this after each [`read`](Self::read), also after the last, until it returns `None`; a stream may forget
    /// what it leaves.
    fn take_sound(&mut self) -> Option<(Duration, Bytes)> {
        None
    }

    /// Reads the next frame, and returns when it is due: the time since the first frame was. Returns `None` at the end.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if the frames stop before the stream's end.
    fn read(&mut self) -> Result<Option<Duration>, SourceError>;

    /// Does a small part of the work that receivers ask for, such as [random-access frames](crate::RandomAccessFrame).
    /// Returns whether there is more of it. A driver calls this until the frame that was read last is due.
    fn prepare(&mut self, demand: &Demand) -> bool;

    /// Returns the frame that was read last, as captured at this time in microseconds since 1970-01-01 UTC. Returns
    /// `None` if it was taken before.
    fn take(&mut self, captured: u64, demand: &Demand) -> Option<BroadcastFrame>;

    /// Returns the first fault of the frames so far, for people, and forgets it.
    fn take_fault(&mut self) -> Option<String> {
        None
    }
}

impl<S: FrameStream + ?Sized> FrameStream for Box<S> {
    fn welcome(&self) -> Welcome {
        (**self).welcome()
    }

    fn sound(&self) -> Option<Sound> {
        (**self).sound()
    }

    fn take_sound(&mut self) -> Option<(Duration, Bytes)> {
        (**self).take_sound()
    }

    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        (**self).read()
    }

    fn prepare(&mut self, demand: &Demand) -> bool {
        (**self).prepare(demand)
    }

    fn take(&mut self, captured: u64, demand: &Demand) -> Option<BroadcastFrame> {
        (**self).take(captured, demand)
    }

    fn take_fault(&mut self) -> Option<String> {
        (**self).take_fault()
    }
}

/// A stored video, or what was broadcast before: a receiver that begins elsewhere than the others gets a stream of its
/// own.
pub trait Archive: Debug + Send + Sync {
    /// Opens the frames from `start` on, or from the nearest moment that is there. The first is a
    /// [random-access frame](crate::RandomAccessFrame). Returns the stream with that moment; `None` if it cannot begin
    /// where this asks. It may block. A driver calls it once at a time.
    ///
    /// `has_left` becomes true when nobody waits for the stream any more, or for its next frame: this then returns `None`
    /// soon, and so does [`FrameStream::read`].
    ///
    /// # Errors
    /// [`SourceError`] if the frames cannot be read.
    fn open(&self, start: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError>;
}

/// A stream of an [`Archive`], and where it begins.
pub type OpenedArchive = (Box<dyn FrameStream>, Start);
