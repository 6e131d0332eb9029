//! What an encode is for.

use crate::picture::Size;
use crate::video::population::{FrameRate, Population};

/// What an encode is for.
#[derive(Debug, Clone)]
pub struct VideoSettings {
    /// Width and height of every frame.
    pub size: Size,
    /// Frames a second.
    pub rate: FrameRate,
    /// The receivers' bandwidths: the slowest one's bytes make the floor, the fastest's are the most that a frame takes.
    /// The enhanced picture is made of the median's bytes at first, and then of those of whichever receiver the video asks for.
    pub population: Population,
    /// Threads that may work at a time; the bytes do not depend on them.
    pub threads: usize,
}
