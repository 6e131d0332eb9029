//! Broadcasts that are measured: over simulated links beside Motion JPEG, to crowds of receivers, and to one beside bad ones.
//!
//! `cargo run --release -p nestcast-live-benches --bin links`, `--bin fanout` and `--bin neighbours`; the results are in
//! `benches/results/live`.

pub mod clip_sink;
pub mod crowd;
pub mod figures;
pub mod jpeg_frames;
pub mod links;
pub mod neighbours;
pub mod process;
pub mod run;
pub mod still_broadcast;
