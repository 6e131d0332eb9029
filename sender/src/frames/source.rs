//! Where frames are made: anything that pictures, recordings and measurements implement.

use std::future::Future;

use bytes::Bytes;
use nestcast_proto::{BroadcastFrame, Demand, SourceError, Welcome};

/// Frames of one kind, made once for all receivers. Whoever has pictures and an encoder of them needs none of its own:
/// [`LiveSource`](crate::LiveSource) is one.
///
/// What a frame's bytes mean is between the source and its receivers' sinks; the sender knows three things of them: any
/// prefix is worth something, the first [`Frame::base`](nestcast_proto::Frame::base) bytes are worth the most, and frames are due one
/// every [`Welcome::interval`]. A frame that is of no use in part is all base.
pub trait FrameSource: Send + 'static {
    /// What receivers are told before the first frame. It stays the same.
    fn welcome(&self) -> Welcome;

    /// The model package that the welcome names, as it goes to receivers that lack it (spec, "Model package"); `None` if it
    /// is not handed out.
    fn package(&self) -> Option<Bytes> {
        None
    }

    /// Waits until the next frame is due and returns it; `None` at the end. Ids rise. `demand` tells how many bytes of it
    /// anyone has use for. Dropped while it waits when the broadcast ends.
    ///
    /// # Errors
    /// Why there are no more frames; receivers are told of which kind it is.
    fn next(&mut self, demand: &Demand) -> impl Future<Output = Result<Option<BroadcastFrame>, SourceError>> + Send;

    /// The broadcast ends: no frame is wanted but one that is being made, which [`FrameSource::next`] is asked for once more.
    fn stop(&mut self) {}
}
