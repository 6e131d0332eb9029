//! Notes about what a video lost.

/// A property of a y4m video that its pictures do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The video has more bits a sample than its pictures.
    #[error("it has {bits} bits a sample: nestcast rounds them to {kept}")]
    Depth {
        /// Bits of a sample of the video.
        bits: u8,
        /// Bits of a sample of its pictures.
        kept: u8,
    },
    /// The video has more colour differences than 4:2:0.
    #[error("its colours are {0}: nestcast averages them to 4:2:0")]
    Averaged(&'static str),
    /// The video has a plane of opacity.
    #[error("it has transparency, which nestcast leaves out")]
    Alpha,
}
