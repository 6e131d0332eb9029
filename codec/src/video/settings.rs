//! The purpose of an encode.

use nestcast_units::FrameRate;

use crate::picture::Size;
use crate::video::population::Population;

/// The settings of an encode.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoSettings {
    /// Width and height of every frame.
    pub size: Size,
    /// Frames a second.
    pub rate: FrameRate,
    /// The receivers' bandwidths: the slowest one's bytes make the base layer, and the fastest one's are the most bytes
    /// of a frame. The enhancement reference has the median's bytes at first, then those of the receiver that the video
    /// selects.
    pub population: Population,
    /// Threads that may work at the same time; the bytes do not depend on them.
    pub threads: usize,
}
