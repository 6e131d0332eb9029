//! Connection IDs of receivers.

use std::time::Duration;

use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::{InvalidCid, RandomConnectionIdGenerator};

/// Random ones, for which no stateless reset is sent (RFC 9000, section 10.3).
///
/// quinn forgets a connection three probe timeouts after it closed it, on a short path 16 ms. A receiver whose path holds back
/// what comes from the sender does not have the close by then, and what it sends would be answered by a reset. quinn reads the
/// held-up close and the reset together and tells the receiver of the later, the reset, which has no code. The price: a
/// receiver that a close did not reach, since it was lost, waits for its idle timeout and not for an answer to its next packet.
#[derive(Debug, Default)]
pub(crate) struct ConnectionIds(RandomConnectionIdGenerator);

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0.generate_cid()
    }

    /// Asked about connections that are no more: packets for those are dropped.
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
