//! Broadcasts that are measured: over simulated links beside Motion JPEG, and to crowds of receivers.
//!
//! `cargo run --release -p nestcast-live-benches --bin links` and `--bin fanout`; the results are in
//! `benches/results/live`.

pub mod clip;
pub mod crowd;
pub mod figures;
pub mod given;
pub mod jpeg;
pub mod links;
pub mod process;
pub mod rival;
pub mod run;
pub mod watch;
