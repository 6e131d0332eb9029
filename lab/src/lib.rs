//! What shows and measures nestcast. Only the program's demonstration, the benchmarks and the tests use it.
//!
//! Metrics of quality and simulated links are always there; what takes more dependencies is behind a feature.

#[cfg(feature = "show")]
pub mod canvas;
pub mod link;
pub mod metrics;
#[cfg(feature = "show")]
pub mod page;
#[cfg(feature = "show")]
pub mod plot;
#[cfg(feature = "show")]
pub mod sheet;
