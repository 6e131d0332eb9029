//! Entropy coding: adaptive binary probabilities and the range coder that uses them. Integers only.

pub(crate) mod probability;
pub(crate) mod range_coder;
pub(crate) mod record;
pub(crate) mod symbols;
