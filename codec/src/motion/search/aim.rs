//! What a search for motion goes by.

use crate::picture::Size;

/// What a search goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim {
    pub(crate) size: Size,
    /// Of the refresh cycle.
    pub(crate) phase: u8,
    /// Luma steps of absolute difference that a bit is worth, in 1/16.
    pub(crate) lambda: u32,
    /// The most bytes that side information should take; beyond it a bit is worth more.
    pub(crate) most_bytes: usize,
    pub(crate) threads: usize,
    pub(crate) effort: Effort,
}

/// How long an encoder searches for motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Each block on its own.
    Fast,
    /// Then again by what overlapped prediction leaves, from one picture or from two: takes up to two thirds more time,
    /// and about 7 % fewer bytes at equal quality.
    #[default]
    Normal,
}
