//! The kinds of files that this crate reads.

use std::fmt;

/// A kind of file that this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// PNG, JPEG or WebP.
    Picture,
    /// Raw video, y4m.
    Y4m,
    /// Matroska, as of `ffmpeg -f matroska`.
    Matroska,
    /// A picture's stream, or a prefix of one that contains its header.
    Stream,
    /// A stored video.
    StoredVideo,
    /// Anything else.
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Picture => "a picture",
            Self::Y4m => "a y4m video",
            Self::Matroska => "a Matroska video",
            Self::Stream => "a stream",
            Self::StoredVideo => "a stored video",
            Self::Other => "something else",
        })
    }
}
