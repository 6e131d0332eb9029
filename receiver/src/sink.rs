//! Where frames go: the seam behind which players, recorders and measurements are.

use std::error::Error as StdError;
use std::future::{Future, pending, ready};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Arrived, More, ReceiveStats, Welcome};

/// Whether a sink can use frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It has what it needs.
    Ready,
    /// It needs the model package that the welcome names first.
    NeedsPackage,
}

/// Takes the frames of one broadcast, over as many connections as it takes.
///
/// What a frame's bytes mean is between the sink and the sender's source; the receiver knows that any prefix is worth
/// something and hands over none without its base. The network waits while a method runs: a sink whose work takes longer
/// than a part of a frame interval hands it to a thread of its own, as [`crate::Player`] does.
pub trait FrameSink: Send {
    /// Why it can go on no longer; ends the receiving.
    type Error: Into<Box<dyn StdError + Send + Sync>> + Send;

    /// There is a connection, the first or another: what comes from now on is its.
    fn handle_connection(&mut self) {}

    /// What the sender's clock says now, since 1970, to within half of the path's round trip; once on each connection, before the
    /// welcome. Frames have the moment of their capture by that clock.
    fn handle_clock(&mut self, now: Duration) {
        let _ = now;
    }

    /// The sender announces what it sends, once on each connection, before frames and packages. A sink that does not decode is
    /// ready for anything.
    ///
    /// # Errors
    /// If it cannot use such frames.
    fn handle_welcome(&mut self, welcome: &Welcome) -> impl Future<Output = Result<Readiness, Self::Error>> + Send {
        let _ = welcome;
        ready(Ok(Readiness::Ready))
    }

    /// The model package, as the sender gave it: not checked yet. Only a sink that said [`Readiness::NeedsPackage`] gets one.
    ///
    /// # Errors
    /// If it is not the right one, or is not sound.
    fn handle_package(&mut self, package: Bytes) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = package;
        ready(Ok(()))
    }

    /// A frame, in order, as far as it came in time; and what came on this connection so far.
    ///
    /// # Errors
    /// If it takes no more.
    fn handle_frame(&mut self, frame: Arrived, stats: ReceiveStats) -> Result<(), Self::Error>;

    /// More bytes of the picture that was handed over last, which stays; once in a frame interval at most. A sink that shows
    /// what it was handed may ignore them.
    ///
    /// # Errors
    /// If it takes no more.
    fn handle_more(&mut self, more: More, stats: ReceiveStats) -> Result<(), Self::Error> {
        let _ = (more, stats);
        Ok(())
    }

    /// The newest frame of video, since the last call, that was handed over and could not be used: a new beginning is asked for.
    fn lost(&mut self) -> Option<u64> {
        None
    }

    /// Waits until it can go on no longer for a reason of its own.
    fn failed(&mut self) -> impl Future<Output = Self::Error> + Send {
        pending()
    }

    /// For how long frames of this connection have been of use, from the first to the last; `None` if none was. A sender of
    /// none is met less and less often. `handed_over` is the same of all frames that were handed over.
    fn useful_for(&self, handed_over: Option<Duration>) -> Option<Duration> {
        handed_over
    }
}
