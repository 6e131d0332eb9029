//! What a file is, by its first bytes.

use std::fmt;

use nestcast_codec::{Header, MAX_HEADER, Parsed, VideoHeader};

use crate::picture::{MAGIC_BYTES, check_magic};
use crate::y4m;

/// A kind of file that this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// PNG or JPEG.
    Picture,
    /// Raw video, y4m.
    Y4m,
    /// A picture's stream, or a prefix of one that holds its header.
    Stream,
    /// A stored video.
    StoredVideo,
    /// Anything else.
    Other,
}

impl Kind {
    /// The first bytes of a file that are enough to tell.
    pub const BYTES: usize = if MAGIC_BYTES > MAX_HEADER { MAGIC_BYTES } else { MAX_HEADER };

    /// The kind of a file that begins so.
    #[must_use]
    pub fn of(start: &[u8]) -> Self {
        if VideoHeader::is_video(start) {
            Self::StoredVideo
        } else if start.starts_with(y4m::MAGIC.as_bytes()) {
            Self::Y4m
        } else if check_magic(start).is_ok() {
            Self::Picture
        } else if Header::parse(start).is_ok_and(|parsed| matches!(parsed, Parsed::Complete(..))) {
            Self::Stream
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Picture => "a picture",
            Self::Y4m => "a y4m video",
            Self::Stream => "a stream",
            Self::StoredVideo => "a stored video",
            Self::Other => "something else",
        })
    }
}
