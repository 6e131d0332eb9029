//! The parameters of a search for motion.

use crate::motion::field::Turn;
use crate::parallel::Threads;
use crate::picture::Size;

/// The parameters of a search.
#[derive(Debug, Clone)]
pub(crate) struct SearchParameters {
    pub(crate) size: Size,
    pub(crate) turn: Turn,
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
    /// Searches and decides each block at once, and stops where it is predicted well. Its search for motion takes half
    /// of the time that `Fast` takes.
    Realtime,
    /// Searches each block on its own, and then chooses among what was found.
    Fast,
    /// Then searches again by the error of overlapped prediction, from one picture or from two. It takes up to two
    /// thirds more time, and about 7 % fewer bytes at equal quality.
    #[default]
    Normal,
}
