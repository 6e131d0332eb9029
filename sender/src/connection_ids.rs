//! Connection IDs of receivers.

use std::time::Duration;

use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::{InvalidCid, RandomConnectionIdGenerator};

/// Random ones, for which no stateless reset is sent (RFC 9000, section 10.3).
///
/// quinn forgets a connection three probe timeouts after it closed it, on a short path 16 ms. What a receiver sends later,
/// since it was held up, would be answered by a reset; quinn lets that take the place of the close that is read along
/// with it, and so the receiver would not learn why it was closed. The price: where the close itself was lost, a receiver
/// waits for its idle timeout, and not for its next packet's answer.
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
