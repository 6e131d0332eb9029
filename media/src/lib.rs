//! Picture and video files within limits: PNG and JPEG in, PNG out, y4m in and out, stored videos in.
//!
//! Files are untrusted: sizes are checked before memory is taken, and the work that a file may cost is bounded by its
//! length.

pub mod picture;
mod rgb;
pub mod stored;
pub mod y4m;

pub use rgb::to_rgb;
