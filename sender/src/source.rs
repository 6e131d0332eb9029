//! Where frames come from: the seam behind which pictures, recordings and measurements are.

use std::error::Error as StdError;
use std::future::Future;

use bytes::Bytes;
use nestcast_proto::{Frame, Welcome};

use crate::feedback::Feedback;

/// Frames of one kind, made once for all receivers.
///
/// What a frame's bytes mean is between the source and its receivers' sinks; the sender knows three things of them: any
/// prefix is worth something, the first [`Frame::base`] bytes are worth the most, and frames are due one every
/// [`Welcome::interval`]. A frame that is of no use in part is all base.
pub trait FrameSource: Send + 'static {
    /// What receivers are told before the first frame. It stays the same.
    fn welcome(&self) -> Welcome;

    /// The model package that the welcome names, as it goes to receivers that lack it (spec, "Model package"); `None` if it
    /// is not handed out.
    fn package(&self) -> Option<Bytes> {
        None
    }

    /// Waits until the next frame is due and gives it; `None` at the end. Ids rise. `feedback` says how many bytes of it
    /// anyone has use for. Dropped while it waits when the broadcast ends.
    ///
    /// # Errors
    /// Why there are no more frames; receivers are told of which kind it is.
    fn next(&mut self, feedback: &Feedback) -> impl Future<Output = Result<Option<Frame>, SourceError>> + Send;

    /// The broadcast ends: no frame is wanted but one that is being made, which [`FrameSource::next`] is asked for once more.
    fn stop(&mut self) {}
}

/// Why a source has no more frames.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// What it reads from broke off, or gave what cannot be used; receivers are told [`nestcast_proto::Code::Source`].
    #[error(transparent)]
    BrokenOff(Box<dyn StdError + Send + Sync>),
    /// A frame cannot be made; receivers are told [`nestcast_proto::Code::Failed`].
    #[error(transparent)]
    Failed(Box<dyn StdError + Send + Sync>),
}

impl SourceError {
    /// What it reads from broke off.
    pub fn broken_off(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::BrokenOff(cause.into())
    }

    /// A frame cannot be made.
    pub fn failed(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
