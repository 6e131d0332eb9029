//! The filter behind the wavelet, in integers (spec, "Post-filter"): every sample of a plane gets a correction that is linear in
//! clipped differences to its neighbours, with taps from a table by what the decoder knows of the block of 4 x 4 samples
//! it lies in.
//!
//! Prior art: the adaptive loop filter of VVC (Recommendation ITU-T H.266, section 8.8.5) has classes of 4 x 4 blocks by
//! activity and direction, symmetric taps and clipped differences. Here tables are trained once and sent never, classes
//! know which coefficients are significant, and taps depend on the place in the wavelet's grid.

mod changes;
mod classes;
mod kernel;
#[cfg(any(test, feature = "training"))]
pub(crate) mod naive;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod window;

/// Samples each way that share a class.
pub(crate) const BLOCK: usize = 4;
/// Levels whose significant coefficients classes tell apart; the finest has the highest number.
pub(crate) const TOLD_LEVELS: usize = 3;
/// Bits behind the point of a sample.
pub(crate) const FRACTION: u32 = 6;

/// Blocks along a side of so many samples.
pub(crate) const fn blocks(side: usize) -> usize {
    side.div_ceil(BLOCK)
}
