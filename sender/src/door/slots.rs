//! Slots of admitted receivers: a limit in all, and a limit for each address.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::door::address_prefix::AddressPrefix;

/// All slots of a broadcast.
#[derive(Debug)]
pub(crate) struct Slots {
    limit: usize,
    limit_per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    /// The number of slots for each prefix that has any.
    of: BTreeMap<AddressPrefix, usize>,
}

/// A receiver's slot; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct Place {
    prefix: AddressPrefix,
    slots: Arc<Slots>,
}

impl Slots {
    pub(crate) fn new(limit: usize, limit_per_address: usize) -> Self {
        Self { limit, limit_per_address, taken: Mutex::default() }
    }

    /// Returns whether a slot is free for a receiver now.
    pub(crate) fn has_room(&self, address: SocketAddr) -> bool {
        self.is_free(&self.taken(), AddressPrefix::of(address))
    }

    /// Takes a slot for a receiver, if one is free.
    pub(crate) fn take(self: &Arc<Self>, address: SocketAddr) -> Option<Place> {
        let prefix = AddressPrefix::of(address);
        let mut taken = self.taken();
        if !self.is_free(&taken, prefix) {
            return None;
        }
        taken.count += 1;
        *taken.of.entry(prefix).or_default() += 1;
        Some(Place { prefix, slots: Arc::clone(self) })
    }

    fn is_free(&self, taken: &Taken, prefix: AddressPrefix) -> bool {
        let of_address = taken.of.get(&prefix).copied().unwrap_or(0);
        taken.count < self.limit && of_address < self.limit_per_address
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.count -= 1;
        if let Some(count) = taken.of.get_mut(&self.prefix) {
            *count -= 1;
            if *count == 0 {
                taken.of.remove(&self.prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_all_and_for_each_address() {
        let slots = Arc::new(Slots::new(3, 2));
        let take = |last: u8| slots.take(([192, 0, 2, last], 1).into());
        let first = take(1).expect("a place");
        let second = take(1).expect("a place");
        assert!(take(1).is_none() && !slots.has_room(([192, 0, 2, 1], 1).into()), "two of one address");
        let third = take(2).expect("a place");
        assert!(take(3).is_none(), "three in all");
        drop((first, third));
        assert!(take(1).is_some() && take(3).is_some());
        drop(second);
        let taken = slots.taken();
        assert_eq!((taken.count, taken.of.len()), (0, 0));
    }
}
