//! The operations that a feed needs from a transport; `quic` implements them.

use std::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;
use nestcast_proto::{Close, PathStats, Room, Urgency};

/// The connection is lost or closed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Disconnected(pub(crate) String);

/// One connected receiver.
pub(crate) trait Connection: Send + Sync + 'static {
    type Outgoing: Outgoing;
    type Incoming: Incoming;

    /// Whether the receiver knows a stream by its [`Outgoing::number`].
    const SHOWS_STREAM_NUMBERS: bool;

    fn address(&self) -> SocketAddr;

    /// Returns the current state of the path.
    fn path(&self) -> PathStats;

    /// Notes that the streams opened last were reset, so their bytes are not sent again.
    fn handle_reset(&self);

    /// Allows `packets` packets in addition to the congestion window.
    fn allow_beyond(&self, packets: u64);

    /// Accepts the bidirectional stream that the receiver opens first.
    fn accept_control(&self) -> impl Future<Output = Result<(Self::Outgoing, Self::Incoming), Disconnected>> + Send;

    /// Opens a stream.
    fn open(&self, urgency: Urgency) -> impl Future<Output = Result<Self::Outgoing, Disconnected>> + Send;

    /// Waits until the connection is lost or closed.
    fn closed(&self) -> impl Future<Output = Disconnected> + Send;

    /// Ends the connection and tells the receiver why.
    fn close(&self, close: Close) -> impl Future<Output = ()> + Send;
}

/// A stream to a receiver.
pub(crate) trait Outgoing: Send {
    /// Returns the transport's number of the stream.
    fn number(&self) -> u64;

    /// Writes the front of `chunks`: as many bytes as there is room for, and at least one. Returns the number. If
    /// dropped while it waits, it writes nothing.
    fn write(&mut self, chunks: &mut [Bytes], room: Room) -> impl Future<Output = Result<usize, Disconnected>> + Send;

    /// Ends the stream; the bytes written so far still arrive.
    fn finish(&mut self);

    /// Stops sending: neither unsent bytes nor lost ones go out any more.
    fn reset(&mut self);

    /// Waits until all of a finished stream has arrived, or the receiver has stopped it.
    fn settled(&mut self) -> impl Future<Output = ()> + Send;
}

/// A stream from a receiver.
pub(crate) trait Incoming: Send {
    /// Returns the next bytes; `None` at the end. May be dropped while it waits.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>, Disconnected>> + Send;
}
