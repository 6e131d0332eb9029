//! Bit planes: the state of a slice that both sides know, and the order in which its symbols are coded.

mod code_block;
pub(crate) mod contexts;
pub(crate) mod isolated;
mod kept_symbols;
pub(crate) mod levels;
mod neighbourhood;
pub(crate) mod passes;
mod region_gains;
mod region_rotations;
pub(crate) mod scan;
pub(crate) mod slice;
