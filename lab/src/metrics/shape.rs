//! What pictures that are compared have in common.

use nestcast_codec::{Channels, Picture, Size};

/// What two pictures must share to be compared sample by sample.
pub(super) fn shape(picture: &Picture) -> (Size, Channels) {
    (picture.size(), picture.channels())
}
