//! Subbands: their layout, the border between floats and integers, and the rotation of regions.

pub(crate) mod coefficients;
pub(crate) mod layout;
pub(crate) mod quantise;
pub(crate) mod regions;
pub(crate) mod rotation;
pub(crate) mod rotation_search;
pub(crate) mod segments;
pub(crate) mod sparse;
