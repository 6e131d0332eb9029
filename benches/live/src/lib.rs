//! Broadcasts that are measured: over simulated links beside x264 and Motion JPEG, to crowds of receivers, to one beside
//! bad ones, and of a video that is encoded as it comes.
//!
//! `cargo run --release -p nestcast-live-benches --bin links`, `--bin fanout`, `--bin neighbours` and `--bin capped-receivers`; the
//! results are in `benches/results/live`.

pub mod crowd;
pub mod figures;
mod jpeg_frames;
mod ladder;
pub mod links;
pub mod neighbours;
pub mod process;
pub mod recorder;
pub mod run;
pub mod steps;
pub mod still_broadcast;
mod x264_frames;
