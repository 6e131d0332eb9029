//! The sorted keys, and the tree above them that finds a place among 10^7 of them in five steps.
//!
//! The tree is implicit: level l + 1 holds every 16th key of level l, so the children of its key i are the keys 16 i to
//! 16 i + 15 of level l. A node is 128 bytes, two lines of a cache: one step costs one wait for memory. The tree needs
//! a fifteenth of the keys' memory. A search by halves (24 steps for 10^7 keys) would wait for memory in most steps.

use crate::code::KEY_BYTES;

/// Keys of a node.
pub(crate) const NODE_KEYS: usize = 16;

/// Most levels: as many as 2^32 keys have.
const MAX_LEVELS: usize = 8;

type Key = [u8; KEY_BYTES];

/// The number of keys of each level, the lowest first, for `count` codes: down to a single node.
pub(crate) fn levels(count: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(count), |&keys| (keys > NODE_KEYS).then(|| keys.div_ceil(NODE_KEYS)))
}

/// The keys of all levels, the lowest first.
#[derive(Debug, Clone)]
pub(crate) struct Keys<'a> {
    levels: [&'a [Key]; MAX_LEVELS],
    height: usize,
}

impl<'a> Keys<'a> {
    /// Reads the bytes of all levels of `count` keys; there must be enough.
    pub(crate) fn new(bytes: &'a [u8], count: usize) -> Option<Self> {
        let (mut keys, _) = bytes.as_chunks();
        let mut all = Self { levels: [&[]; MAX_LEVELS], height: 0 };
        for length in levels(count) {
            (*all.levels.get_mut(all.height)?, keys) = keys.split_at_checked(length)?;
            all.height += 1;
        }
        Some(all)
    }

    pub(crate) fn at(&self, position: usize) -> u64 {
        u64::from_le_bytes(self.levels[0][position])
    }

    /// The first position whose key is not below `key`.
    pub(crate) fn lower_bound(&self, key: u64) -> usize {
        let mut node = 0;
        for level in (1..self.height).rev() {
            // The place is in the last child that begins with a smaller key, or in the first child.
            node = below(self.levels[level], node, key).saturating_sub(1).max(node * NODE_KEYS);
        }
        below(self.levels[0], node, key)
    }
}

/// The first position, in a node or after it, whose key is not below `key`.
fn below(level: &[Key], node: usize, key: u64) -> usize {
    let first = node * NODE_KEYS;
    let keys = level.get(first..(first + NODE_KEYS).min(level.len())).unwrap_or_default();
    first + keys.iter().map(|&other| usize::from(u64::from_le_bytes(other) < key)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_where_halving_finds_it() {
        for count in [0, 1, 2, 15, 16, 17, 255, 256, 257, 4096, 4097, 70_000] {
            let sorted: Vec<u64> = (0..count as u64).map(|i| i / 3 * 10 + 5).collect();
            let all = levels(count).scan(1, |step, length| {
                let level: Vec<_> = sorted.iter().step_by(*step).copied().collect();
                assert_eq!(level.len(), length);
                *step *= NODE_KEYS;
                Some(level)
            });
            let bytes: Vec<u8> = all.flatten().flat_map(u64::to_le_bytes).collect();
            let keys = Keys::new(&bytes, count).expect("enough bytes");
            for key in (0..count as u64 * 4 + 20).step_by(1 + count / 500).chain([u64::MAX]) {
                assert_eq!(keys.lower_bound(key), sorted.partition_point(|&other| other < key), "{key} of {count}");
            }
        }
    }
}
