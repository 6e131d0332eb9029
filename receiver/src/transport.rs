//! What a session needs of a transport: the seam behind which QUIC is.

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

    /// The next stream that the sender opened. May be dropped while it waits.
    fn accept(&self) -> impl Future<Output = Result<Self::Incoming, Error>> + Send;

    /// Waits until the sender ended the connection, or it broke; gives why.
    fn closed(&self) -> impl Future<Output = Error> + Send;

    /// The path's round trip, as far as it is known.
    fn rtt(&self) -> Duration;

    /// Ends the connection and tells the sender why.
    fn close(&self, close: Close);
}

/// A stream to a sender.
pub(crate) trait Outgoing: Send {
    /// Writes the front of `bytes`, at least one byte, and takes it off. May be dropped while it waits: nothing is written then.
    fn write(&mut self, bytes: &mut Bytes) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A stream from a sender.
pub(crate) trait Incoming: Send + 'static {
    /// The next bytes in order; none at the end. May be dropped while it waits: nothing is read then.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;
}

/// A stream whose bytes can be had in the order in which they came.
pub(crate) trait Scattered: Incoming {
    /// Its number, by which the sender knows it too.
    fn number(&self) -> u64;

    /// Bytes that were not read yet, in any order, and how many stand before them; none at the end. Once it was called, bytes do
    /// not come in order any more.
    fn read_scattered(&mut self) -> impl Future<Output = Result<Option<(u64, Bytes)>, Error>> + Send;
}
