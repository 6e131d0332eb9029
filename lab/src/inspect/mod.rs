//! Makes the reports that `nestcast inspect` prints on streams and stored videos, as text and for programs.

#[cfg(feature = "search")]
pub mod code;
pub mod picture;
pub mod video;
