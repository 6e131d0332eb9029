//! Frames of video, corrected by a network for what is missing at their cuts. Nothing is predicted from them, so
//! receivers may differ in them.

mod blocks;
mod network;
mod package;

pub use network::DeepFrames;
pub use package::{VideoManifest, VideoPackage, VideoRanges};
