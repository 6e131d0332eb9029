//! Broadcasts that are measured: over simulated links beside x264 and Motion JPEG, to crowds of receivers, and to one beside
//! bad ones.
//!
//! `cargo run --release -p nestcast-live-benches --bin links`, `--bin fanout` and `--bin neighbours`; the results are in
//! `benches/results/live`.

pub mod crowd;
pub mod figures;
mod jpeg_frames;
mod ladder;
pub mod links;
pub mod neighbours;
pub mod process;
mod recorder;
pub mod run;
pub mod still_broadcast;
mod x264_frames;
