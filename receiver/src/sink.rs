//! Sinks of frames: the trait that players, recorders and measurements implement.

use std::error::Error as StdError;
use std::future::{Future, pending, ready};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{More, ReceiveStats, ReceivedFrame, Sound, SoundPacket, Welcome};

/// Whether a sink can use frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It has what it needs.
    Ready,
    /// It needs the model package that the welcome names first.
    NeedsPackage,
}

/// Receives the frames of one broadcast, over any number of connections.
///
/// The sink and the sender's source agree on what a frame's bytes mean. The receiver knows that any prefix is useful,
/// and hands over no frame without its base layer. The network waits while a method runs: if a sink's work takes longer
/// than a part of a frame interval, do it on a separate thread, as [`crate::Player`] does.
pub trait FrameSink: Send {
    /// Why the sink cannot continue; ends the reception.
    type Error: Into<Box<dyn StdError + Send + Sync>> + Send;

    /// Notes a new connection, the first or another: later calls belong to it.
    fn handle_connection(&mut self) {}

    /// Notes that there is no connection, and so no broadcast: one ended, or an attempt to connect failed. The receiver may
    /// connect again. It calls this each time, unless it ends the connection itself, because it stops or goes elsewhere.
    fn handle_disconnection(&mut self) {}

    /// Sets the sender's clock: `now` is its time since 1970, accurate to half of the path's round trip. Called once on
    /// each connection, before the welcome. Frames state their capture times by that clock.
    fn handle_clock(&mut self, now: Duration) {
        let _ = now;
    }

    /// Handles the sender's announcement, once on each connection, before frames and packages. A sink that does not
    /// decode is ready for anything.
    ///
    /// # Errors
    /// If it cannot use such frames.
    fn handle_welcome(&mut self, welcome: &Welcome) -> impl Future<Output = Result<Readiness, Self::Error>> + Send {
        let _ = welcome;
        ready(Ok(Readiness::Ready))
    }

    /// Takes the model package, unchecked. Only a sink that returned [`Readiness::NeedsPackage`] gets one.
    ///
    /// # Errors
    /// If the package is the wrong one, or is damaged.
    fn handle_package(&mut self, package: Bytes) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = package;
        ready(Ok(()))
    }

    /// Takes the next frame, in order, as far as it arrived in time; `stats` counts what arrived on this connection so
    /// far.
    ///
    /// # Errors
    /// If the sink accepts no more.
    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Self::Error>;

    /// Takes more bytes of the last picture, which stays. The receiver calls this at most once in a frame interval. A
    /// sink that has shown the picture may ignore them.
    ///
    /// # Errors
    /// If the sink accepts no more.
    fn handle_more(&mut self, more: More, stats: ReceiveStats) -> Result<(), Self::Error> {
        let _ = (more, stats);
        Ok(())
    }

    /// Learns what sound the broadcast of this connection has, before its welcome; not called if it has none. Returns
    /// whether the sink plays it: a sender sends sound to no other receiver.
    fn handle_sound_announced(&mut self, sound: Sound) -> bool {
        let _ = sound;
        false
    }

    /// Takes a packet of sound as it comes: in any order, and perhaps twice.
    ///
    /// # Errors
    /// If the sink accepts no more.
    fn handle_sound(&mut self, packet: SoundPacket) -> Result<(), Self::Error> {
        let _ = packet;
        Ok(())
    }

    /// Returns the newest frame of video since the last call that arrived but was unusable. The receiver then asks for
    /// a random-access frame.
    fn lost(&mut self) -> Option<u64> {
        None
    }

    /// Waits until the sink itself cannot continue.
    fn failed(&mut self) -> impl Future<Output = Self::Error> + Send {
        pending()
    }

    /// Returns how long frames of this connection have been useful, from the first to the last; `None` if none was
    /// useful. Without useful frames, reconnects back off exponentially. `handed_over` is the same time for all frames
    /// that were handed over.
    fn useful_for(&self, handed_over: Option<Duration>) -> Option<Duration> {
        handed_over
    }
}
