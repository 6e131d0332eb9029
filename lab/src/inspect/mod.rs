//! What `nestcast inspect` tells of streams and stored videos, as text and for programs.

pub mod picture;
pub mod video;
