//! Session versions (spec, "Growth"): a receiver offers a range, and the sender chooses one version in it.

use bytes::BytesMut;

use crate::wire::close::{Close, SHORT_MESSAGE};
use crate::wire::varint::{Reader, put_varint};

/// The session versions that an end speaks: all from the lowest to the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionRange {
    lowest: u64,
    highest: u64,
}

impl VersionRange {
    /// The versions that this build speaks.
    pub const SPOKEN: Self = Self { lowest: 1, highest: 1 };

    /// Makes a range that includes both ends; `None` if the lowest version is above the highest.
    #[must_use]
    pub const fn new(lowest: u64, highest: u64) -> Option<Self> {
        if lowest <= highest { Some(Self { lowest, highest }) } else { None }
    }

    /// Returns whether the range contains a version.
    #[must_use]
    pub const fn contains(self, version: u64) -> bool {
        self.lowest <= version && version <= self.highest
    }

    /// Returns the highest version in both ranges, which the sender chooses.
    #[must_use]
    pub fn common(self, other: Self) -> Option<u64> {
        let highest = self.highest.min(other.highest);
        (highest >= self.lowest.max(other.lowest)).then_some(highest)
    }

    pub(crate) fn write(self, out: &mut BytesMut) {
        put_varint(out, self.lowest);
        put_varint(out, self.highest);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Close> {
        let lowest = reader.varint().ok_or(SHORT_MESSAGE)?;
        let highest = reader.varint().ok_or(SHORT_MESSAGE)?;
        Self::new(lowest, highest).ok_or(Close::violation("a hello offers a range of versions that is empty"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_that_both_ends_speak_is_chosen() {
        let range = |lowest, highest| VersionRange::new(lowest, highest).expect("a range");
        for (ours, theirs, common) in [
            ((1, 1), (1, 1), Some(1)),
            ((1, 1), (1, 2), Some(1)),
            ((1, 4), (2, 3), Some(3)),
            ((2, 3), (3, 9), Some(3)),
            ((1, 1), (2, 3), None),
            ((1, 1), (0, 0), None),
        ] {
            let ours = range(ours.0, ours.1);
            let theirs = range(theirs.0, theirs.1);
            assert_eq!([ours.common(theirs), theirs.common(ours)], [common; 2], "{ours:?}, {theirs:?}");
        }
        assert_eq!(VersionRange::new(2, 1), None);
    }
}
