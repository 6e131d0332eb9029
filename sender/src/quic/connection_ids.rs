//! Connection IDs of receivers.

use std::time::Duration;

use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::{InvalidCid, RandomConnectionIdGenerator};

/// Random connection IDs, for which no stateless reset is sent (RFC 9000, section 10.3).
///
/// quinn forgets a connection three probe timeouts after it closed it: 16 ms on a short path. If the path delays
/// packets, the receiver does not have the close by then, and a reset would answer what it sends. quinn reads the late
/// close and the reset together and reports the later one, the reset, which has no code. The price: a receiver whose
/// close was lost waits for its idle timeout, not for an answer to its next packet.
#[derive(Debug, Default)]
pub(crate) struct ConnectionIds(RandomConnectionIdGenerator);

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0.generate_cid()
    }

    /// Rejects every ID: quinn asks only for connections that it has forgotten, and drops their packets.
    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Err(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        self.0.cid_len()
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        self.0.cid_lifetime()
    }
}
