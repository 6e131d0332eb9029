//! Reads and writes picture and video files within limits. It reads PNG, JPEG, WebP, y4m, raw Matroska, streams and stored videos,
//! and writes PNG, y4m and stored videos. [`Input`] opens a file of any kind by its name. With the feature `output`,
//! files appear whole or not at all. With `image-hooks`, the crate `image` opens streams; with `image-types`, its images
//! become pictures and pictures its images.
//!
//! Files are untrusted. The crate checks sizes before it allocates memory, and a file's length bounds the work that it
//! costs.

mod aspect;
mod byte_count;
mod frame_range;
#[cfg(feature = "image-hooks")]
pub mod image_hooks;
#[cfg(feature = "image-types")]
pub mod image_types;
mod input;
mod kind;
pub mod matroska;
#[cfg(feature = "output")]
pub mod output;
pub mod picture;
mod recognise;
mod rgb;
mod source;
pub mod stored;
pub mod stream;
pub mod y4m;

pub use byte_count::{ByteCount, ByteCountError};
pub use frame_range::{FrameRange, FrameRangeError};
pub use input::{Input, InputError, Opened, Refusal, is_standard};
pub use kind::Kind;
pub use rgb::{to_rgb, to_rgba};
pub use source::{PeekedInput, Replayed};
