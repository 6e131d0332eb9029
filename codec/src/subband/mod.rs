//! Subbands: their layout, the border between floats and integers, and the rotations and gains of regions.

pub(crate) mod activity;
pub(crate) mod coefficients;
pub(crate) mod gains;
pub(crate) mod layout;
pub(crate) mod quantise;
pub(crate) mod region_activity;
pub(crate) mod regions;
pub(crate) mod rotation;
pub(crate) mod rotation_search;
pub(crate) mod segments;
pub(crate) mod sparse;
pub(crate) mod zone;
