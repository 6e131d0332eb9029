//! Commands on files: pictures, streams, videos, indexes; how they end, and what refuses them.

mod commands;
#[cfg(feature = "demo")]
mod demo;
mod ends;
mod faults;
mod ffmpeg_pipes;
mod harness;
mod names;
mod pictures;
#[cfg(feature = "retrieval")]
mod retrieval;
mod streams;
mod video;
mod video_formats;
mod video_reports;
