//! How long the broadcast lasts, and when a link's rate changes.

/// Duration in seconds.
pub(super) const LENGTH_SECONDS: u32 = 12;
/// The seconds at which the third link's rate falls to the second link's, and rises again.
pub(super) const FALL_SECONDS: (u64, u64) = (5, 8);
