//! The operations that a session needs from a transport; `quic` implements them.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::Close;

use crate::Error;

/// A connection to a sender.
pub(crate) trait Connection: Send + Sync + 'static {
    type Outgoing: Outgoing;
    type Incoming: Scattered;

    /// Opens the control stream. May be dropped while it waits.
    fn open_control(&self) -> impl Future<Output = Result<(Self::Outgoing, Self::Incoming), Error>> + Send;

    /// Returns the next stream that the sender opened. May be dropped while it waits.
    fn accept(&self) -> impl Future<Output = Result<Self::Incoming, Error>> + Send;

    /// Waits until the sender ended the connection, or it broke; returns why.
    fn closed(&self) -> impl Future<Output = Error> + Send;

    /// Returns the path's round-trip time, as far as it is known.
    fn rtt(&self) -> Duration;

    /// Ends the connection and tells the sender why.
    fn close(&self, close: Close);
}

/// A stream to a sender.
pub(crate) trait Outgoing: Send {
    /// Writes at least one byte from the front of `bytes`, and removes what it wrote. If dropped while it waits, it
    /// writes nothing.
    fn write(&mut self, bytes: &mut Bytes) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A stream from a sender.
pub(crate) trait Incoming: Send + 'static {
    /// Returns the next bytes in order; `None` at the end. If dropped while it waits, it reads nothing.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;
}

/// A stream whose bytes can be read in the order of arrival.
pub(crate) trait Scattered: Incoming {
    /// Returns the stream's number, which the sender knows too.
    fn number(&self) -> u64;

    /// Returns unread bytes in any order, with their offset; `None` at the end. After the first call, bytes are no
    /// longer in order.
    fn read_scattered(&mut self) -> impl Future<Output = Result<Option<(u64, Bytes)>, Error>> + Send;
}
