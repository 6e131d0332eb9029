//! Motion vectors.

/// A displacement in quarters of a luma sample: it points from a place to its source in the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Vector {
    pub(crate) x: i16,
    pub(crate) y: i16,
}

impl Vector {
    pub(crate) const ZERO: Self = Self { x: 0, y: 0 };

    /// Adds modulo 2^16 in each component, as the format defines.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self { x: self.x.wrapping_add(other.x), y: self.y.wrapping_add(other.y) }
    }

    /// Subtracts modulo 2^16 in each component.
    pub(crate) const fn minus(self, other: Self) -> Self {
        Self { x: self.x.wrapping_sub(other.x), y: self.y.wrapping_sub(other.y) }
    }

    /// Returns the sum of both components' magnitudes.
    pub(crate) const fn length(self) -> u32 {
        self.x.unsigned_abs() as u32 + self.y.unsigned_abs() as u32
    }

    /// Returns the median of three, in each component.
    pub(crate) fn median(a: Self, b: Self, c: Self) -> Self {
        let middle = |a: i16, b: i16, c: i16| a.max(b).min(a.min(b).max(c));
        Self { x: middle(a.x, b.x, c.x), y: middle(a.y, b.y, c.y) }
    }
}
