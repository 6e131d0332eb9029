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
///
/// For example, frames that another encoder has finished:
///
/// ```
/// use bytes::Bytes;
/// use nestcast_proto::{BroadcastFrame, Demand, Frame, FrameRate, PackageHash, SourceError, Welcome};
/// use nestcast_sender::{FrameSource, clock_micros};
///
/// struct Finished {
///     frames: std::vec::IntoIter<Bytes>,
///     next_id: u64,
/// }
///
/// impl FrameSource for Finished {
///     fn welcome(&self) -> Welcome {
///         let rate = FrameRate::new(30, 1).expect("a rate");
///         Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 64, height: 48, rate, video: None }
///     }
///
///     async fn next(&mut self, _demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
///         tokio::time::sleep(self.welcome().interval()).await;
///         let Some(bytes) = self.frames.next() else { return Ok(None) };
///         let id = self.next_id;
///         self.next_id += 1;
///         // No part of these frames is useful alone.
///         let base = bytes.len();
///         Ok(Some(Frame { id, skipped: 0, captured: clock_micros(), since: id, base, bytes, join: None }.into()))
///     }
/// }
/// ```
///
/// [The first page of this crate](crate) shows how to broadcast such a source.
pub trait FrameSource: Send + 'static {
    /// Returns what receivers learn before the first frame. It must stay the same. Width and height are 1 to 16384 pixels;
    /// [`Broadcast::listen`](crate::Broadcast::listen) refuses others.
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

    /// Waits until the next frame is due and returns it; `None` at the end. `demand` says how many bytes of it receivers
    /// can use. The sender drops the future when the broadcast ends.
    ///
    /// Each frame has a higher [`id`](nestcast_proto::Frame::id) than the one before, and 1 to
    /// [`MAX_FRAME`](nestcast_proto::MAX_FRAME) bytes. A frame that breaks this ends the broadcast:
    /// [`Broadcast::run`](crate::Broadcast::run) returns [`Error::Source`](crate::Error::Source).
    ///
    /// # Errors
    /// Why there are no more frames; receivers learn which kind of error it is.
    fn next(&mut self, demand: &Demand) -> impl Future<Output = Result<Option<BroadcastFrame>, SourceError>> + Send;

    /// Tells the source that the broadcast ends. The sender calls [`FrameSource::next`] once more, for a frame already
    /// being made.
    fn stop(&mut self) {}
}
