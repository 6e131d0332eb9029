//! The parameters of a search for motion.

use crate::parallel::Threads;

/// The parameters of a search.
#[derive(Debug, Clone)]
pub(crate) struct SearchParameters {
    /// The luma steps of absolute difference that one bit is worth, in 1/16.
    pub(crate) lambda: u32,
    /// The most bytes that side information should take; above it a bit is worth more.
    pub(crate) most_bytes: usize,
    pub(crate) threads: Threads,
    pub(crate) effort: Effort,
}

/// How long an encoder searches for motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Searches and decides each block at once, and stops where it is predicted well.
    Realtime,
    /// Searches as `Realtime` does, and then predicts blocks from two pictures where the error of overlapped prediction
    /// is smaller. It needs half as much time again, and about 6 % fewer bytes at equal quality.
    Fast,
    /// Searches each block on its own, chooses among what was found, and then searches again by the error of overlapped
    /// prediction, from one picture or from two. It needs 40 % more time than `Fast`, and about 5 % fewer bytes.
    #[default]
    Normal,
}
