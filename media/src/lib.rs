//! Picture and video files within limits: PNG and JPEG in, PNG out, y4m in and out, streams in, stored videos in and out. [`Input`] is a
//! file by name, of whatever kind; with the feature `output` there are files that appear whole or not at all.
//!
//! Files are untrusted: sizes are checked before memory is taken, and the work that a file may cost is bounded by its
//! length.

mod frame_range;
mod input;
mod kind;
#[cfg(feature = "output")]
pub mod output;
pub mod picture;
mod recognise;
mod rgb;
mod source;
pub mod stored;
pub mod stream;
pub mod y4m;

pub use frame_range::{FrameRange, FrameRangeError};
pub use input::{Input, InputError, Opened, Refusal, is_standard};
pub use kind::Kind;
pub use rgb::to_rgb;
pub use source::{Replayed, Source};
