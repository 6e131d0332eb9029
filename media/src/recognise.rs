//! Recognises a file by its first bytes.

use nestcast_codec::{Header, MAX_HEADER, Parsed, VideoHeader};

use crate::kind::Kind;
use crate::matroska;
use crate::picture::{MAGIC_BYTES, check_magic};
use crate::y4m;

impl Kind {
    /// The number of first bytes that [`Kind::of`] needs.
    pub const NEEDED_BYTES: usize = if MAGIC_BYTES > MAX_HEADER { MAGIC_BYTES } else { MAX_HEADER };

    /// Returns the kind of a file that begins with these bytes.
    #[must_use]
    pub fn of(start: &[u8]) -> Self {
        if VideoHeader::is_video(start) {
            Self::StoredVideo
        } else if start.starts_with(y4m::MAGIC_WORD.as_bytes()) {
            Self::Y4m
        } else if start.starts_with(&matroska::MAGIC_BYTES) {
            Self::Matroska
        } else if check_magic(start).is_ok() {
            Self::Picture
        } else if Header::parse(start).is_ok_and(|parsed| matches!(parsed, Parsed::Complete(..))) {
            Self::Stream
        } else {
            Self::Other
        }
    }
}
