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
    /// The pictures have full range in more than 8 bits, where nestcast takes 255 of 8 bits for white.
    #[error("it has full range in {bits} bits: nestcast takes {} for white, and brighter samples become white", 255_u32 << bits.abs_diff(8))]
    FullRange {
        /// Bits of a sample of its pictures.
        bits: u8,
    },
    /// The pictures have more bits a sample than frames keep.
    #[error("it has {bits} bits a sample: nestcast's frames are exact to {exact} at most", exact = Self::EXACT_BITS)]
    Inexact {
        /// Bits of a sample of its pictures.
        bits: u8,
    },
    /// The video has more colour differences than 4:2:0.
    #[error("its colours are {0}: nestcast averages them to 4:2:0")]
    Averaged(&'static str),
    /// Some frames are interlaced, and the line of each frame says which.
    #[error("some of its frames are interlaced: nestcast keeps that, but not which of them")]
    Mixed,
    /// The video has a plane of opacity.
    #[error("it has transparency, which nestcast leaves out")]
    Alpha,
}

impl Note {
    /// The most bits of a sample that frames of video keep: their references have three fraction bits.
    pub(super) const EXACT_BITS: u8 = 11;

    /// Returns the note that a video of `bits` bits a sample is shown in `kept`; `None` if these are not fewer.
    #[must_use]
    pub fn rounded(bits: u8, kept: u8) -> Option<Self> {
        (bits > kept).then_some(Self::Depth { bits, kept })
    }
}
