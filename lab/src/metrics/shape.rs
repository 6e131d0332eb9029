//! The properties that compared pictures must share.

use nestcast_codec::{Channels, Picture, Size};

/// Returns what two pictures must share to be compared sample by sample.
pub(super) fn shape(picture: &Picture) -> (Size, Channels) {
    (picture.size(), picture.channels())
}
