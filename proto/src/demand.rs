//! What receivers want of the next frames: consumers of frames state it, encoders read it.
//!
//! [`Demand`] is the only way from receivers to an encoder. A QUIC session, a relay and a recorder register with the
//! same `Demand`, and look alike to the encoder.
//!
//! ```
//! use nestcast_proto::{Bitrate, Demand, ReceiverDemand};
//!
//! let demand = Demand::default();
//! let entry = demand.register(); // the receiver has a number now
//! entry.set(ReceiverDemand {
//!     bandwidth: Bitrate::from_bits(4_000_000),
//!     useful_bytes: 20_000,
//!     needs_random_access: true, // it has no frame yet
//!     ..ReceiverDemand::default()
//! });
//!
//! // An encoder, once for each frame:
//! assert_eq!(demand.take_useful_bytes(), 20_000);
//! assert_eq!(demand.receivers().len(), 1);
//! assert!(demand.take_random_access_request());
//!
//! drop(entry); // the receiver leaves
//! assert!(demand.receivers().is_empty());
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nestcast_units::Bitrate;

/// The fewest bytes of a frame, for a receiver that joins: half a second at 256 kbit/s.
const MIN_FRAME_BYTES: u64 = 16 * 1024;

/// What one receiver wants, as of the last frame that it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverDemand {
    /// The bandwidth estimate of its path.
    pub bandwidth: Bitrate,
    /// The receiver's cap, if it asked for one.
    pub max_bitrate: Option<Bitrate>,
    /// The most bytes of the next frame that it can use.
    pub useful_bytes: u64,
    /// The backlog: frames of video whose base layers wait for its path.
    pub owed_frames: u64,
    /// Whether it can continue only with a [random-access frame](crate::RandomAccessFrame): it is new, or its backlog
    /// was dropped.
    pub needs_random_access: bool,
    /// The number of its [rendition](crate::Rendition); `None` before its first frame, and if there is one rendition at
    /// most.
    pub rendition: Option<u64>,
}

/// The demand of all receivers of a broadcast. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Demand(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// The most useful bytes that any receiver stated since the last [`Demand::take_useful_bytes`].
    asked: AtomicU64,
    /// What the last [`Demand::take_useful_bytes`] returned.
    taken: AtomicU64,
    /// Renditions in which a receiver has asked for a random-access frame since the requests were last taken.
    joins: Mutex<BTreeSet<Option<u64>>>,
    receivers: Mutex<Receivers>,
}

#[derive(Debug, Default)]
struct Receivers {
    /// The number of receivers registered so far.
    numbers: u64,
    /// The current receivers, by number; `None` for one that has stated nothing yet.
    entries: BTreeMap<u64, Arc<Mutex<Option<ReceiverDemand>>>>,
}

impl Demand {
    /// Registers a receiver, under a number that no other receiver has or had. It counts from its first
    /// [`DemandEntry::set`] until the entry is dropped.
    #[must_use]
    pub fn register(&self) -> DemandEntry {
        let mut receivers = lock(&self.0.receivers);
        let receiver = receivers.numbers;
        receivers.numbers += 1;
        let stated = Arc::default();
        receivers.entries.insert(receiver, Arc::clone(&stated));
        DemandEntry { receiver, stated, demand: self.clone() }
    }

    /// Returns how many bytes of the next frame the receiver with the best path can use; an encoder need not make more.
    /// The number rises at once and falls by an eighth at most. Call this once for each frame.
    #[must_use]
    pub fn take_useful_bytes(&self) -> u64 {
        let last = self.0.taken.load(Ordering::Relaxed);
        let bytes = self.0.asked.swap(0, Ordering::Relaxed).max(last - last / 8).max(MIN_FRAME_BYTES);
        self.0.taken.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Returns whether a receiver has asked for a [random-access frame](crate::RandomAccessFrame) since the last call.
    /// A receiver that does not get one asks again.
    #[must_use]
    pub fn take_random_access_request(&self) -> bool {
        !self.take_random_access_requests().is_empty()
    }

    /// Returns the same by the numbers of [renditions](crate::Rendition); `None` stands for receivers without a
    /// rendition.
    #[must_use]
    pub fn take_random_access_requests(&self) -> BTreeSet<Option<u64>> {
        std::mem::take(&mut lock(&self.0.joins))
    }

    /// Returns what each receiver wants, in ascending order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> Vec<(u64, ReceiverDemand)> {
        let receivers = lock(&self.0.receivers);
        let stated = receivers.entries.iter().map(|(receiver, stated)| (*receiver, *lock(stated)));
        stated.filter_map(|(receiver, stated)| Some((receiver, stated?))).collect()
    }
}

/// One receiver's part of a [`Demand`]; dropping it removes the receiver.
#[derive(Debug)]
pub struct DemandEntry {
    receiver: u64,
    stated: Arc<Mutex<Option<ReceiverDemand>>>,
    demand: Demand,
}

impl DemandEntry {
    /// The receiver's number, by which [renditions](crate::Rendition) name it.
    #[must_use]
    pub const fn receiver(&self) -> u64 {
        self.receiver
    }

    /// States what the receiver wants from now on. Call it after each frame that the receiver gets.
    pub fn set(&self, wanted: ReceiverDemand) {
        *lock(&self.stated) = Some(wanted);
        self.demand.0.asked.fetch_max(wanted.useful_bytes, Ordering::Relaxed);
        if wanted.needs_random_access {
            self.request_random_access(wanted.rendition);
        }
    }

    /// Asks for a [random-access frame](crate::RandomAccessFrame) in `rendition` before the next [`set`](Self::set),
    /// for a receiver that has no frame yet or lost one.
    pub fn request_random_access(&self, rendition: Option<u64>) {
        lock(&self.demand.0.joins).insert(rendition);
    }
}

impl Drop for DemandEntry {
    fn drop(&mut self) {
        lock(&self.demand.0.receivers).entries.remove(&self.receiver);
    }
}

/// A panic elsewhere leaves no half-written state: every lock lasts for one statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(useful_bytes: u64) -> ReceiverDemand {
        ReceiverDemand { useful_bytes, ..ReceiverDemand::default() }
    }

    #[test]
    fn useful_bytes_follow_the_largest_demand_and_fall_slowly() {
        let demand = Demand::default();
        assert_eq!(demand.take_useful_bytes(), 16 * 1024);
        let [first, second] = [(); 2].map(|()| demand.register());
        first.set(wants(80_000));
        second.set(wants(20_000));
        assert_eq!(demand.take_useful_bytes(), 80_000);
        assert_eq!(demand.take_useful_bytes(), 70_000);
        assert_eq!((0..20).map(|_| demand.take_useful_bytes()).min(), Some(16 * 1024));
    }

    #[test]
    fn a_receiver_counts_from_what_it_first_states_until_it_leaves() {
        let demand = Demand::default();
        let [first, second] = [(); 2].map(|()| demand.register());
        assert!(demand.receivers().is_empty());
        second.set(wants(1));
        first.set(wants(2));
        assert_eq!(demand.receivers(), [(first.receiver(), wants(2)), (second.receiver(), wants(1))]);
        let left = first.receiver();
        drop(first);
        assert_eq!(demand.receivers(), [(second.receiver(), wants(1))]);
        assert!(demand.register().receiver() > left, "a number is given once");
    }

    #[test]
    fn a_join_is_asked_for_by_what_is_stated_and_before() {
        let demand = Demand::default();
        let entry = demand.register();
        entry.request_random_access(None);
        entry.set(ReceiverDemand { needs_random_access: true, rendition: Some(3), ..wants(1) });
        assert_eq!(demand.take_random_access_requests(), BTreeSet::from([None, Some(3)]));
        assert!(!demand.take_random_access_request(), "requests are taken once");
        entry.set(wants(1));
        assert!(!demand.take_random_access_request());
    }
}
