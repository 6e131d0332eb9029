//! Measured broadcasts: over simulated links next to x264, scalable coding and Motion JPEG, in several renditions, to
//! crowds of receivers, to one receiver among bad ones, of a video that is encoded live, over a kernel's links; and
//! concealed pictures.
//!
//! `cargo run --release -p nestcast-live-benches --bin NAME`: `links`, `renditions`, `fanout`, `neighbours`,
//! `capped-receivers`, `kernel-links`, `concealment`. The results are in `benches/results/live`.

pub mod crowd;
pub mod figures;
mod jpeg_frames;
mod ladder;
pub mod links;
pub mod neighbours;
pub mod playout;
pub mod process;
pub mod recorder;
mod rival_frames;
pub mod run;
pub mod steps;
pub mod still_broadcast;
mod svc_frames;
mod x264_frames;
