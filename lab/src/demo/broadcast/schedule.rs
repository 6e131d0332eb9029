//! How long the broadcast lasts, and when a link's rate changes.

/// Seconds that it lasts.
pub(super) const SECONDS: u32 = 12;
/// The third link's rate falls to that of the second, and rises again, at these seconds.
pub(super) const FALL: (u64, u64) = (5, 8);
