//! What a feed needs of a transport: the seam behind which QUIC is.

use std::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;
use nestcast_proto::{Close, PathStats, Room, Urgency};

/// The connection is no more.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Disconnected(pub(crate) String);

/// One connected receiver.
pub(crate) trait Connection: Send + Sync + 'static {
    type Outgoing: Outgoing;
    type Incoming: Incoming;

    /// Whether the receiver knows a stream by [`Outgoing::number`].
    const SHOWS_STREAM_NUMBERS: bool;

    fn address(&self) -> SocketAddr;

    /// What is known of the path now.
    fn path(&self) -> PathStats;

    /// The streams that were opened last were reset, whose bytes are not sent again.
    fn handle_reset(&self);

    /// So many packets may go beyond what may be in flight.
    fn allow_beyond(&self, packets: u64);

    /// The stream that the receiver opens first, both ways.
    fn accept_control(&self) -> impl Future<Output = Result<(Self::Outgoing, Self::Incoming), Disconnected>> + Send;

    /// Opens a stream.
    fn open(&self, urgency: Urgency) -> impl Future<Output = Result<Self::Outgoing, Disconnected>> + Send;

    /// Waits until the connection is no more.
    fn closed(&self) -> impl Future<Output = Disconnected> + Send;

    /// Ends the connection and tells the receiver why.
    fn close(&self, close: Close) -> impl Future<Output = ()> + Send;
}

/// A stream to a receiver.
pub(crate) trait Outgoing: Send {
    /// The transport's number of it.
    fn number(&self) -> u64;

    /// Writes the front of `chunks`, at least one byte, as much as there is room for; gives how much that was. May be
    /// dropped while it waits: nothing is written then.
    fn write(&mut self, chunks: &mut [Bytes], room: Room) -> impl Future<Output = Result<usize, Disconnected>> + Send;

    /// No more will be written; what was, arrives.
    fn finish(&mut self);

    /// What was not acknowledged is not sent again, nor is what was not sent.
    fn reset(&mut self);

    /// Waits until all of a finished stream arrived, or nobody wants it.
    fn settled(&mut self) -> impl Future<Output = ()> + Send;
}

/// A stream from a receiver.
pub(crate) trait Incoming: Send {
    /// The next bytes; none at the end. May be dropped while it waits.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>, Disconnected>> + Send;
}
