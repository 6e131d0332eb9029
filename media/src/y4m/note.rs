//! Notes about what a video lost.

/// A property of a y4m video that its pictures do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The video has more than 8 bits a sample.
    #[error("it has {0} bits a sample: nestcast rounds them to 8")]
    Depth(u8),
    /// The video has more colour differences than 4:2:0.
    #[error("its colours are {0}: nestcast averages them to 4:2:0")]
    Averaged(&'static str),
    /// The video has a plane of opacity.
    #[error("it has transparency, which nestcast leaves out")]
    Alpha,
}
