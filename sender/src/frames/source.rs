//! Sources of frames: the trait that cameras, recordings and measurements implement.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use nestcast_proto::{Archive, BroadcastFrame, Demand, Sound, SourceError, Welcome};

use crate::frames::sound::SoundFanout;

/// A source of frames, each made once for all receivers. If you have pictures and an encoder, you need no source of
/// your own: use [`LiveSource`](crate::LiveSource).
///
/// The source and its receivers' sinks agree on what a frame's bytes mean. The sender knows three things: any prefix is
/// useful, the first [`Frame::base`](nestcast_proto::Frame::base) bytes (the base layer) are the most useful, and one
/// frame is due every [`Welcome::interval`]. If a part of a frame is useless, the whole frame is base layer.
pub trait FrameSource: Send + 'static {
    /// Returns what receivers learn before the first frame. It must stay the same.
    fn welcome(&self) -> Welcome;

    /// Returns the model package that the welcome names, as the sender sends it to receivers that lack it (spec, "Model
    /// package"); `None` if it is not sent.
    fn package(&self) -> Option<Bytes> {
        None
    }

    /// Returns what receivers learn of the sound that the source has itself, if it has some. It must stay the same.
    fn sound(&self) -> Option<Sound> {
        None
    }

    /// Returns where receivers may begin elsewhere than the others; `None` if they may not.
    fn archive(&self) -> Option<Arc<dyn Archive>> {
        None
    }

    /// Takes the fan-out to which the source hands its own sound, before the first frame is requested.
    fn attach_sound(&mut self, sound: SoundFanout) {
        let _ = sound;
    }

    /// Waits until the next frame is due and returns it; `None` at the end. Ids rise. `demand` says how many bytes of
    /// it receivers can use. The sender drops the future when the broadcast ends.
    ///
    /// # Errors
    /// Why there are no more frames; receivers learn which kind of error it is.
    fn next(&mut self, demand: &Demand) -> impl Future<Output = Result<Option<BroadcastFrame>, SourceError>> + Send;

    /// Tells the source that the broadcast ends. The sender calls [`FrameSource::next`] once more, for a frame already
    /// being made.
    fn stop(&mut self) {}
}
