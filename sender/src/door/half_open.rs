//! Half-open connections, which have not said hello: how many there may be, and which one makes room for another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::door::address_prefix::AddressPrefix;

/// The least time that a connection has for its handshake and hello, however many others connect. A hello needs one
/// round trip, or two if a packet is lost.
pub(crate) const HELLO_TIME: Duration = Duration::from_secs(1);

/// All half-open connections.
#[derive(Debug, Clone)]
pub(crate) struct HalfOpenConnections {
    table: Arc<Mutex<Table>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Table {
    /// The connections of each prefix that has any, oldest first.
    connections: BTreeMap<AddressPrefix, VecDeque<Entry>>,
    count: usize,
    number: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    since: Instant,
    /// Dropping it tells the holder of the ticket.
    _alive: oneshot::Sender<()>,
}

/// One half-open connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct SlotGuard {
    prefix: AddressPrefix,
    number: u64,
    evicted: oneshot::Receiver<()>,
    table: Arc<Mutex<Table>>,
}

impl HalfOpenConnections {
    /// Allows at most `limit` half-open connections.
    pub(crate) fn new(limit: usize) -> Self {
        Self { table: Arc::default(), limit }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.table).count
    }

    /// Returns the latest time at which there will be room.
    pub(crate) fn room_at(&self, now: Instant) -> Instant {
        let table = lock(&self.table);
        if table.count < self.limit {
            return now;
        }
        let oldest = table.connections.values().filter_map(VecDeque::front).map(|entry| entry.since).min();
        oldest.map_or(now, |since| since + HELLO_TIME)
    }

    /// Adds a half-open connection. At the limit it evicts one that is no longer undisturbed: the oldest of the address
    /// prefix with the most of them.
    pub(crate) fn enter(&self, now: Instant, prefix: AddressPrefix) -> Option<SlotGuard> {
        let mut table = lock(&self.table);
        if table.count >= self.limit {
            table.evict(now)?;
        }
        let (alive, evicted) = oneshot::channel();
        table.number += 1;
        table.count += 1;
        let number = table.number;
        table.connections.entry(prefix).or_default().push_back(Entry { number, since: now, _alive: alive });
        Some(SlotGuard { prefix, number, evicted, table: Arc::clone(&self.table) })
    }
}

impl Table {
    fn evict(&mut self, now: Instant) -> Option<()> {
        let had_its_time = |entries: &VecDeque<Entry>| entries.front().is_some_and(|e| e.since + HELLO_TIME <= now);
        let most = self.connections.iter().filter(|(_, entries)| had_its_time(entries));
        let (prefix, entries) = most.max_by_key(|(_, entries)| entries.len())?;
        let prefix = *prefix;
        let number = entries.front()?.number;
        self.remove(prefix, number);
        Some(())
    }

    fn remove(&mut self, prefix: AddressPrefix, number: u64) {
        let Some(entries) = self.connections.get_mut(&prefix) else { return };
        let Ok(at) = entries.binary_search_by_key(&number, |entry| entry.number) else { return };
        entries.remove(at);
        self.count -= 1;
        if entries.is_empty() {
            self.connections.remove(&prefix);
        }
    }
}

impl SlotGuard {
    /// Waits until the connection has to make room.
    pub(crate) async fn evicted(&mut self) {
        // Nothing is ever sent; dropping the sender ends the wait.
        let _ = (&mut self.evicted).await;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        lock(&self.table).remove(self.prefix, self.number);
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn prefix(last: u8) -> AddressPrefix {
        AddressPrefix::of(([192, 0, 2, last], 1).into())
    }

    async fn is_evicted(ticket: &mut SlotGuard) -> bool {
        tokio::select! {
            biased;
            () = ticket.evicted() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_of_the_prefix_with_the_most_makes_room_once_it_had_its_time() {
        let half_open = HalfOpenConnections::new(4);
        let mut alone = half_open.enter(Instant::now(), prefix(1)).expect("room");
        let mut many: Vec<_> = (0..3).filter_map(|_| half_open.enter(Instant::now(), prefix(2))).collect();
        assert!(many.len() == 3 && half_open.enter(Instant::now(), prefix(3)).is_none(), "none had its time");
        advance(half_open.room_at(Instant::now()) - Instant::now()).await;
        let mut new = half_open.enter(Instant::now(), prefix(3)).expect("one had its time");
        assert!(is_evicted(&mut many[0]).await, "the oldest of three");
        assert!(!is_evicted(&mut many[1]).await && !is_evicted(&mut alone).await && !is_evicted(&mut new).await);
        assert_eq!(half_open.len(), 4);
        drop((alone, many, new));
        assert_eq!(half_open.len(), 0);
    }
}
