//! Connection IDs of receivers, and the key for stateless resets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::crypto::HmacKey;
use quinn_proto::{InvalidCid, RandomConnectionIdGenerator};
use ring::hmac;
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// The number of bytes that mark the process that made an ID. Two processes have the same mark in one of 2^24 cases.
const MARK_BYTES: usize = 3;
const ID_BYTES: usize = 8;
/// How long after the sender closed a connection it resets none: the close may still be on its way.
const CLOSE_TRAVELS: Duration = Duration::from_secs(3);
/// The purpose of the key for resets, so that no other use of the identity's key derives the same key.
const RESET_KEY: &[u8] = b"nestcast stateless reset";

/// When this sender last closed a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct LastClose(Arc<Mutex<Option<Instant>>>);

impl LastClose {
    /// Notes that the sender closes a connection now.
    pub(super) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn is_recent(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() < CLOSE_TRAVELS)
    }
}

/// Connection IDs that carry a mark of this process. For a while after the sender closed a connection, it sends no
/// stateless reset (RFC 9000, section 10.3) for them. It always sends resets for IDs of earlier processes.
///
/// quinn forgets a connection three probe timeouts after it closed it: 16 ms on a short path. If the path delays
/// packets from the sender, the receiver does not have the close by then, and its next packet would be answered by a
/// reset. quinn reads the delayed close and the reset together and reports the later one, the reset, which has no code.
/// The cost: if the close is lost, the receiver waits for its idle timeout, because its next packet gets no answer.
///
/// A sender that was killed closes nothing. If it starts again with the same identity, a reset tells its receivers. Nor
/// does a sender close a connection that was silent for too long: a receiver whose machine slept learns it by a reset.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    random: RandomConnectionIdGenerator,
    mark: [u8; MARK_BYTES],
    closes: LastClose,
}

impl ConnectionIds {
    pub(super) fn new(closes: LastClose) -> Self {
        let mut mark = RandomConnectionIdGenerator::new(MARK_BYTES);
        let mark = mark.generate_cid();
        Self {
            random: RandomConnectionIdGenerator::new(ID_BYTES - MARK_BYTES),
            mark: *mark.first_chunk().expect("it is as long as asked for"),
            closes,
        }
    }
}

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&[&self.mark[..], &self.random.generate_cid()].concat())
    }

    /// quinn asks this about unknown connections: it drops packets for those that this sender may just have closed.
    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        if id.starts_with(&self.mark) && self.closes.is_recent() { Err(InvalidCid) } else { Ok(()) }
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Derives the key for stateless resets. It is the same in every process with this identity.
pub(crate) fn reset_key(identity: &PrivateKeyDer<'_>) -> Arc<dyn HmacKey> {
    let secret = Sha256::new().chain_update(RESET_KEY).chain_update(identity.secret_der()).finalize();
    Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ids_of_another_process_are_reset_and_those_of_this_one_but_after_a_close() {
        let closes = LastClose::default();
        let (mut one, mut two) = (ConnectionIds::new(closes.clone()), ConnectionIds::new(LastClose::default()));
        let (own, other) = (one.generate_cid(), two.generate_cid());
        assert_eq!((own.len(), one.cid_len()), (ID_BYTES, ID_BYTES));
        assert!(one.validate(&own).is_ok(), "it was silent for too long");
        closes.note();
        assert!(one.validate(&own).is_err() && one.validate(&other).is_ok());
        tokio::time::advance(CLOSE_TRAVELS).await;
        assert!(one.validate(&own).is_ok());
        assert_ne!(own, one.generate_cid());
    }

    #[test]
    fn an_identity_has_one_key_of_resets() {
        let token = |key: &PrivateKeyDer<'_>| {
            let mut token = [0; 32];
            reset_key(key).sign(b"an id", &mut token);
            token
        };
        let [one, two] = [1, 2].map(|byte| PrivateKeyDer::Pkcs8(vec![byte; 40].into()));
        assert_eq!(token(&one), token(&one.clone_key()));
        assert_ne!(token(&one), token(&two));
    }
}
