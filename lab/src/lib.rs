//! Shows and measures nestcast. Only the program's demonstration, the benchmarks and the tests use it.
//!
//! Metrics of quality, traces and simulated links are always built. Everything that needs more dependencies, such as
//! broadcasts in virtual time, has a feature.

#[cfg(feature = "demo")]
pub mod animation;
pub mod bd;
#[cfg(feature = "virtual-time")]
pub mod bottleneck;
#[cfg(feature = "show")]
pub mod canvas;
#[cfg(feature = "motion-jpeg")]
pub mod clip;
#[cfg(feature = "demo")]
pub mod demo;
#[cfg(feature = "show")]
pub mod drawings;
#[cfg(feature = "eval")]
pub mod encoded;
#[cfg(feature = "eval")]
pub mod eval;
#[cfg(feature = "ffmpeg")]
pub mod ffmpeg;
#[cfg(feature = "eval")]
pub mod inspect;
#[cfg(feature = "motion-jpeg")]
pub mod jpeg;
pub mod link;
pub mod metrics;
#[cfg(feature = "motion-jpeg")]
pub mod motion_jpeg;
pub mod originals;
#[cfg(feature = "virtual-time")]
pub mod pace;
#[cfg(feature = "show")]
pub mod page;
#[cfg(feature = "plot")]
pub mod plot;
#[cfg(feature = "progress")]
pub mod progress;
pub mod rate_distortion;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "show")]
pub mod sheet;
#[cfg(feature = "show")]
pub mod thumbnail;
#[cfg(feature = "top")]
pub mod top;
pub mod video;
#[cfg(feature = "virtual-time")]
pub mod video_frames;
#[cfg(feature = "x264")]
pub mod x264;
