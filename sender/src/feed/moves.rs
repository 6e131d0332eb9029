//! Bytes from a receiver and to it.

use bytes::Bytes;
use nestcast_proto::Room;

use crate::transport::{Disconnected, Incoming, Outgoing};

/// Returns the next bytes of a control stream.
pub(super) async fn read<O, I: Incoming>(control: &mut Option<(O, I)>) -> Result<Bytes, Disconnected> {
    let bytes = match control {
        Some((_, incoming)) => incoming.read().await?,
        None => None,
    };
    match bytes {
        Some(bytes) => Ok(bytes),
        // If a receiver ends its side, this waits forever.
        None => std::future::pending().await,
    }
}

/// Writes to the stream, if there is one.
pub(super) async fn write(
    stream: Option<&mut impl Outgoing>,
    mut chunks: [Bytes; 2],
    room: Room,
) -> Result<usize, Disconnected> {
    match stream {
        Some(stream) => stream.write(&mut chunks, room).await,
        None => std::future::pending().await,
    }
}
