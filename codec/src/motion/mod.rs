//! Motion of blocks between frames: vectors, references, overlapped prediction, side information, encoder's search.

pub(crate) mod field;
mod interpolate;
pub(crate) mod last_vectors;
pub(crate) mod overlap;
pub(crate) mod reference;
pub(crate) mod search;
pub(crate) mod side_info;
mod taps;
pub(crate) mod vector;
