//! What to put on the screen.

use std::time::Duration;

use nestcast_codec::Picture;

/// A picture to put on the screen now, and what it is.
#[derive(Debug)]
pub enum Present<'a> {
    /// A frame that came.
    Show {
        /// The frame's number; the same as before where more came of a picture that stays.
        id: u64,
        /// When it was captured, in microseconds since 1970 by the sender's clock.
        captured: u64,
        /// Bytes that came in time.
        bytes: usize,
        /// Bytes that the whole frame has.
        full: u64,
        /// From the first byte to the last that was used at first.
        receiving: Duration,
        /// The picture.
        picture: &'a Picture,
    },
    /// A frame of video is not there when it is due: the last picture, moved on by its own motion. The frame may still come; it is
    /// shown then, unless the screen already shows a later one.
    Conceal {
        /// The number of the frame that is missing.
        id: u64,
        /// The picture.
        picture: &'a Picture,
    },
    /// Nothing came for as long as a frame takes, and nothing moves: the last picture again.
    Hold {
        /// The picture.
        picture: &'a Picture,
    },
}
