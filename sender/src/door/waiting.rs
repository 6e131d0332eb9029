//! Peers that wait for their handshake, and whose turn is next.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use crate::door::address_prefix::AddressPrefix;

/// If a peer has waited this long, more peers connect than the sender can do handshakes for.
const OVERLOAD_WAIT: Duration = Duration::from_millis(500);
/// The longest wait of a peer. A client repeats its first packet after a second (RFC 9002, section 6.2.2), and is the
/// newest then; if it still waited, it would not be.
const MAX_WAIT: Duration = Duration::from_millis(900);
/// How long a turn is remembered.
const MEMORY_TIME: Duration = Duration::from_secs(10);

/// One turn in this many goes to an address prefix that had one before, however many new prefixes there are: a peer
/// with an IPv6 /48 has 65,536 of them.
const OTHERS_EVERY: u64 = 4;

/// Address prefixes take turns. First comes a prefix without a recent turn, so that a newcomer does not wait for
/// strangers who had theirs; then the prefix whose turn was longest ago. Within a prefix, peers whose address and port
/// had no recent turn go first, so that a peer which reconnects again and again cannot keep a newcomer out. Among these
/// the oldest goes first, but under overload the newest: most peers that have waited long have given up, and a newcomer
/// is served in time.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    /// The peers of each prefix that has any.
    queues: BTreeMap<AddressPrefix, Queue<T>>,
    count: usize,
    limit: usize,
    /// The number of turns so far.
    turn: u64,
    /// The last turn of each prefix that had one recently.
    last_turns: BTreeMap<AddressPrefix, u64>,
    /// The time, address and number of each recent turn, oldest first.
    turns: VecDeque<(Instant, SocketAddr, u64)>,
    /// The last turn of each address and port in `turns`.
    had_turn: BTreeMap<SocketAddr, u64>,
}

/// The peers of one prefix, oldest first.
#[derive(Debug)]
struct Queue<T> {
    new: VecDeque<Waiter<T>>,
    /// Peers that had a turn recently.
    again: VecDeque<Waiter<T>>,
}

#[derive(Debug)]
struct Waiter<T> {
    since: Instant,
    address: SocketAddr,
    it: T,
}

impl<T> Waiting<T> {
    /// Holds at most `limit` peers.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            queues: BTreeMap::new(),
            count: 0,
            limit,
            turn: 0,
            last_turns: BTreeMap::new(),
            turns: VecDeque::new(),
            had_turn: BTreeMap::new(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Adds a peer. Returns the peers that it drops: those that waited too long, and, above the limit, the oldest of
    /// the prefix with the most.
    pub(crate) fn push(&mut self, now: Instant, address: SocketAddr, it: T) -> Vec<T> {
        let queue = self.queues.entry(AddressPrefix::of(address)).or_default();
        let again = self.had_turn.contains_key(&address);
        let part = if again { &mut queue.again } else { &mut queue.new };
        part.push_back(Waiter { since: now, address, it });
        self.count += 1;
        let mut dropped = Vec::new();
        while let Some(prefix) = self.overdue(now).or_else(|| self.crowded()) {
            dropped.extend(self.take(prefix, |queue| queue.drop_one(now)).map(|peer| peer.it));
        }
        dropped
    }

    /// Returns the peer whose turn is next.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        self.forget(now);
        let prefix = self.next_prefix()?;
        let peer = self.take(prefix, |queue| queue.pop(now))?;
        self.remember(now, peer.address);
        Some(peer.it)
    }

    fn next_prefix(&self) -> Option<AddressPrefix> {
        let had_one = |prefix: &AddressPrefix| self.last_turns.get(prefix).map(|turn| (*turn, *prefix));
        let longest_ago = || self.queues.keys().filter_map(had_one).min().map(|(_, prefix)| prefix);
        let newcomers = self.queues.iter().filter(|(prefix, _)| !self.last_turns.contains_key(prefix));
        let newcomer = newcomers.min_by_key(|(_, queue)| queue.since()).map(|(prefix, _)| *prefix);
        if self.turn.is_multiple_of(OTHERS_EVERY) { longest_ago().or(newcomer) } else { newcomer.or_else(longest_ago) }
    }

    fn remember(&mut self, now: Instant, address: SocketAddr) {
        self.turn += 1;
        self.last_turns.insert(AddressPrefix::of(address), self.turn);
        self.had_turn.insert(address, self.turn);
        self.turns.push_back((now, address, self.turn));
    }

    /// Forgets turns older than [`MEMORY_TIME`].
    fn forget(&mut self, now: Instant) {
        while let Some((_, address, turn)) = self.turns.pop_front_if(|(at, ..)| *at + MEMORY_TIME < now) {
            if self.had_turn.get(&address) == Some(&turn) {
                self.had_turn.remove(&address);
            }
            let prefix = AddressPrefix::of(address);
            if self.last_turns.get(&prefix) == Some(&turn) {
                self.last_turns.remove(&prefix);
            }
        }
    }

    fn overdue(&self, now: Instant) -> Option<AddressPrefix> {
        self.queues.iter().find(|(_, queue)| queue.overdue(now)).map(|(prefix, _)| *prefix)
    }

    fn crowded(&self) -> Option<AddressPrefix> {
        let most = self.queues.iter().max_by_key(|(_, queue)| queue.len());
        most.filter(|_| self.count > self.limit).map(|(prefix, _)| *prefix)
    }

    fn take(
        &mut self,
        prefix: AddressPrefix,
        which: impl FnOnce(&mut Queue<T>) -> Option<Waiter<T>>,
    ) -> Option<Waiter<T>> {
        let queue = self.queues.get_mut(&prefix)?;
        let peer = which(queue)?;
        if queue.len() == 0 {
            self.queues.remove(&prefix);
        }
        self.count -= 1;
        Some(peer)
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { new: VecDeque::new(), again: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    fn len(&self) -> usize {
        self.new.len() + self.again.len()
    }

    /// Returns since when its oldest peer has waited.
    fn since(&self) -> Option<Instant> {
        [&self.new, &self.again].into_iter().filter_map(VecDeque::front).map(|peer| peer.since).min()
    }

    fn overdue(&self, now: Instant) -> bool {
        [&self.new, &self.again].into_iter().filter_map(VecDeque::front).any(|peer| peer.since + MAX_WAIT < now)
    }

    fn pop(&mut self, now: Instant) -> Option<Waiter<T>> {
        let overload = self.new.front().is_some_and(|peer| peer.since + OVERLOAD_WAIT < now);
        let new = if overload { self.new.pop_back() } else { self.new.pop_front() };
        new.or_else(|| self.again.pop_front())
    }

    /// Removes a peer that has waited too long; if there is none, the oldest.
    fn drop_one(&mut self, now: Instant) -> Option<Waiter<T>> {
        let overdue = |peer: &mut Waiter<T>| peer.since + MAX_WAIT < now;
        let overdue = self.new.pop_front_if(overdue).or_else(|| self.again.pop_front_if(overdue));
        overdue.or_else(|| self.again.pop_front()).or_else(|| self.new.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8, port: u16) -> SocketAddr {
        ([192, 0, 2, last], port).into()
    }

    #[test]
    fn prefixes_take_turns_and_the_newest_goes_first_under_overload() {
        let mut waiting = Waiting::new(100);
        let mut now = Instant::now();
        for number in 0..50 {
            assert!(waiting.push(now, address(1, number), number).is_empty());
        }
        assert!(waiting.push(now, address(2, 1), 100).is_empty() && waiting.push(now, address(2, 2), 101).is_empty());
        let order: Vec<_> = (0..6).filter_map(|_| waiting.pop(now)).collect();
        assert_eq!(order, [0, 100, 1, 101, 2, 3]);
        now += OVERLOAD_WAIT * 3 / 2;
        assert!(waiting.push(now, address(1, 50), 50).is_empty());
        assert_eq!((waiting.pop(now), waiting.pop(now), waiting.len()), (Some(50), Some(49), 45));
    }

    #[test]
    fn a_prefix_that_had_no_turn_goes_before_those_that_had_and_starves_none() {
        let mut waiting = Waiting::new(1000);
        let now = Instant::now();
        for stranger in 1..=64 {
            waiting.push(now, address(stranger, 1), stranger);
            waiting.push(now, address(stranger, 2), stranger);
        }
        // While some prefixes had no turn, every fourth turn is a second one.
        let mut strangers: Vec<_> = (0..86).filter_map(|_| waiting.pop(now)).collect();
        strangers.sort_unstable();
        strangers.dedup();
        assert_eq!(strangers.len(), 64, "each had a turn");
        waiting.push(now, address(200, 1), 200);
        assert!([waiting.pop(now), waiting.pop(now)].contains(&Some(200)), "among the next two, not after 64");

        let again = waiting.pop(now).expect("strangers still wait");
        for newcomer in 100..180 {
            waiting.push(now, address(newcomer, 1), newcomer);
        }
        let order: Vec<_> = (0..40).filter_map(|_| waiting.pop(now)).collect();
        let others = order.iter().filter(|peer| **peer <= 64).count();
        assert_eq!((others, again <= 64), (10, true), "one turn of four goes to those who had one");
    }

    #[test]
    fn who_comes_again_goes_behind_who_comes_once() {
        let mut waiting = Waiting::new(100);
        let mut now = Instant::now();
        waiting.push(now, address(1, 7), 0);
        assert_eq!(waiting.pop(now), Some(0));
        waiting.push(now, address(1, 8), 1);
        waiting.push(now, address(1, 7), 2);
        waiting.push(now, address(1, 7), 3);
        assert_eq!([waiting.pop(now), waiting.pop(now), waiting.pop(now)], [Some(1), Some(2), Some(3)]);
        now += MEMORY_TIME * 2;
        waiting.push(now, address(2, 1), 4);
        assert_eq!(waiting.pop(now), Some(4));
        assert_eq!((waiting.turns.len(), waiting.had_turn.len()), (1, 1), "turns are forgotten");
    }

    #[test]
    fn who_comes_again_and_again_is_known_from_its_last_turn_on() {
        let mut waiting = Waiting::new(100);
        let start = Instant::now();
        for half in 0..2 {
            let now = start + MEMORY_TIME / 2 * half;
            waiting.push(now, address(1, 7), 0);
            assert_eq!(waiting.pop(now), Some(0));
        }
        let now = start + MEMORY_TIME * 5 / 4;
        waiting.push(now, address(1, 8), 1);
        assert_eq!(waiting.pop(now), Some(1), "the first turn is forgotten");
        waiting.push(now, address(1, 7), 2);
        waiting.push(now, address(1, 9), 3);
        assert_eq!([waiting.pop(now), waiting.pop(now)], [Some(3), Some(2)]);
    }

    #[test]
    fn the_prefix_with_the_most_loses_its_oldest() {
        let mut waiting = Waiting::new(3);
        let now = Instant::now();
        let dropped: Vec<_> = (0..5).flat_map(|number| waiting.push(now, address(1, number), number)).collect();
        assert_eq!(dropped, [0, 1]);
        assert_eq!(waiting.push(now, address(2, 1), 10), [2]);
        assert_eq!(waiting.push(now + MAX_WAIT * 2, address(3, 1), 20), [3, 4, 10]);
        assert_eq!((waiting.pop(now), waiting.pop(now)), (Some(20), None));
    }
}
