//! Connection IDs of receivers, and the key for stateless resets.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
/// The close of a connection may take this long to arrive. Until then the sender sends no reset for that connection.
const CLOSE_TRAVEL_TIME: Duration = Duration::from_secs(3);
/// The most connections whose closes the sender remembers. It forgets the oldest first.
const MAX_CLOSES: usize = 1024;
/// The purpose of the key for resets, so that no other use of the identity's key derives the same key.
const RESET_KEY: &[u8] = b"nestcast stateless reset";

thread_local! {
    /// The ID that this thread made last.
    static MADE: Cell<Option<ConnectionId>> = const { Cell::new(None) };
}

/// The connections that this sender closed a short while ago. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Closes(Arc<Mutex<Closed>>);

#[derive(Debug, Default)]
struct Closed {
    /// When the sender closed all its connections.
    all: Option<Instant>,
    /// The first IDs of connections, and when each was closed; the oldest is first.
    single: VecDeque<(ConnectionId, Instant)>,
}

impl Closes {
    /// Runs `accept`, in which quinn makes a connection's first ID; a receiver uses no other. Returns what notes the
    /// close of that connection.
    pub(super) fn of<T>(&self, accept: impl FnOnce() -> T) -> (T, Closing) {
        MADE.set(None);
        let accepted = accept();
        (accepted, Closing { id: MADE.take(), closes: self.clone() })
    }

    /// Notes that the sender closes all connections now.
    pub(super) fn note_all(&self) {
        self.closed().all = Some(Instant::now());
    }

    /// Returns whether the close of the connection may still be on its way.
    fn may_travel(&self, id: &ConnectionId) -> bool {
        let closed = self.closed();
        let single = closed.single.iter().rev().find(|(of, _)| of == id).map(|(_, moment)| *moment);
        closed.all.max(single).is_some_and(|moment| moment.elapsed() < CLOSE_TRAVEL_TIME)
    }

    fn closed(&self) -> MutexGuard<'_, Closed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the close of one connection.
#[derive(Debug)]
pub(super) struct Closing {
    id: Option<ConnectionId>,
    closes: Closes,
}

impl Closing {
    /// Notes that the sender closes the connection now.
    pub(super) fn note(&self) {
        let Some(id) = self.id else { return };
        let mut closed = self.closes.closed();
        if closed.single.len() >= MAX_CLOSES {
            closed.single.pop_front();
        }
        closed.single.push_back((id, Instant::now()));
    }
}

/// Connection IDs that carry a mark of this process. For a while after the sender closed a connection, it sends no
/// stateless reset (RFC 9000, section 10.3) for it. It always sends resets for IDs of earlier processes.
///
/// quinn forgets a connection three probe timeouts after it closed it: 16 ms on a short path. If the path delays
/// packets from the sender, the receiver does not have the close by then, and its next packet would be answered by a
/// reset. quinn reads the delayed close and the reset together and reports the later one, the reset, which has no code.
/// The cost: if the close is lost, the receiver's packets of the next three seconds get no answer. The PING after that
/// gets a reset.
///
/// A sender that was killed closes nothing. If it starts again with the same identity, a reset tells its receivers. Nor
/// does a sender close a connection that was silent for too long: a receiver whose machine slept learns it by a reset.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    random: RandomConnectionIdGenerator,
    mark: [u8; MARK_BYTES],
    closes: Closes,
}

impl ConnectionIds {
    pub(super) fn new(closes: Closes) -> Self {
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
        let id = ConnectionId::new(&[&self.mark[..], &self.random.generate_cid()].concat());
        MADE.set(Some(id));
        id
    }

    /// quinn asks this about unknown connections: it drops packets for those that this sender closed a moment ago.
    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        if id.starts_with(&self.mark) && self.closes.may_travel(id) { Err(InvalidCid) } else { Ok(()) }
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
    async fn a_connection_that_the_sender_just_closed_is_not_reset_and_every_other_one_is() {
        let closes = Closes::default();
        let (mut one, mut two) = (ConnectionIds::new(closes.clone()), ConnectionIds::new(Closes::default()));
        let ((silent, _), (refused, closing)) = (closes.of(|| one.generate_cid()), closes.of(|| one.generate_cid()));
        let other = two.generate_cid();
        assert_eq!((silent.len(), one.cid_len()), (ID_BYTES, ID_BYTES));
        assert_ne!(silent, refused);
        closing.note();
        assert!(one.validate(&refused).is_err());
        assert!(one.validate(&silent).is_ok(), "nobody closed it");
        tokio::time::advance(CLOSE_TRAVEL_TIME).await;
        assert!(one.validate(&refused).is_ok());
        closes.note_all();
        assert!(one.validate(&silent).is_err() && one.validate(&other).is_ok());
        tokio::time::advance(CLOSE_TRAVEL_TIME).await;
        assert!(one.validate(&silent).is_ok());
    }

    #[test]
    fn the_oldest_close_is_forgotten_first() {
        let closes = Closes::default();
        let mut ids = ConnectionIds::new(closes.clone());
        let mut close = || {
            let (id, closing) = closes.of(|| ids.generate_cid());
            closing.note();
            id
        };
        let closed: Vec<_> = (0..=MAX_CLOSES).map(|_| close()).collect();
        assert!(!closes.may_travel(&closed[0]) && closed[1..].iter().all(|id| closes.may_travel(id)));
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
