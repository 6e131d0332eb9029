//! What the measurements share: rival codecs, rate-distortion series, BD-rate, ladders, plots, the report.
//!
//! Nothing here is shipped. The crate is outside the workspace's default members, and needs cmake, perl and nasm (nasm
//! on x86 only) to build its rivals. `cargo xtask measure --help` measures, `cargo xtask report` draws the results,
//! `cargo bench -p nestcast-benches` times.

pub mod charts;
pub mod decoders;
pub mod ladder;
pub mod measure;
pub mod ours;
pub mod page;
pub mod perceptual;
pub mod picture;
pub mod population;
pub mod published;
pub mod receivers;
pub mod report;
pub mod rivals;
pub mod scaling;
pub mod series;
pub mod sheet;
pub mod style;
pub mod table;
pub mod timing;
pub mod video;
