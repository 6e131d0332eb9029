//! What the measurements share: rival codecs, rate-distortion series, BD-rate, plots.
//!
//! Nothing here is shipped: the crate is outside the workspace's default members, and needs cmake and nasm (nasm on x86
//! only) to build libjpeg-turbo. `cargo run --release -p nestcast-benches --bin rd -- --help` measures rate and
//! distortion, `cargo bench -p nestcast-benches` times.

pub mod bd;
pub mod measure;
pub mod picture;
pub mod plot;
pub mod report;
pub mod rivals;
pub mod series;
