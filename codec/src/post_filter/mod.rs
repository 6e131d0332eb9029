//! The filter after the wavelet, in integers (spec, "Post-filter"). Every sample of a plane gets a correction that is
//! linear in clipped differences to its neighbours. The taps come from a table, by the class of the sample's block of 4
//! x 4 samples.
//!
//! Prior art: the adaptive loop filter of VVC (Recommendation ITU-T H.266, section 8.8.5) has classes of 4 x 4 blocks
//! by activity and direction, symmetric taps and clipped differences. Here tables are trained once and never sent,
//! classes include which coefficients are significant, and taps depend on the place in the wavelet's grid.

mod changes;
mod classes;
mod kernel;
#[cfg(any(test, feature = "training"))]
pub(crate) mod naive;
mod products;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod window;

/// Samples in each direction that share a class.
pub(crate) const BLOCK_SIDE: usize = 4;
/// Levels whose significant coefficients the classes distinguish; the finest has the highest number.
pub(crate) const TOLD_LEVELS: usize = 3;
/// Fraction bits of a sample.
pub(crate) const FRACTION_BITS: u32 = 6;

/// Blocks along a side of `side` samples.
pub(crate) const fn blocks(side: usize) -> usize {
    side.div_ceil(BLOCK_SIDE)
}
