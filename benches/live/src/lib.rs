//! Broadcasts that are measured: over simulated links beside Motion JPEG, to crowds of receivers, and to one beside bad ones.
//!
//! `cargo run --release -p nestcast-live-benches --bin links`, `--bin fanout` and `--bin neighbours`; the results are in
//! `benches/results/live`.

pub mod clip;
pub mod crowd;
pub mod figures;
pub mod jpeg;
pub mod links;
pub mod neighbours;
pub mod process;
pub mod rival;
pub mod run;
pub mod still_broadcast;
pub mod watch;
