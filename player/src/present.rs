//! The player's output: pictures to show.

use std::time::Duration;

use nestcast_codec::Picture;

/// A picture to show now.
#[derive(Debug)]
pub enum Present<'a> {
    /// A frame that arrived.
    Show {
        /// The frame's number; the same as before if more of a picture that stays has arrived.
        id: u64,
        /// The capture time, in microseconds since 1970 by the sender's clock.
        captured: u64,
        /// Bytes that arrived in time.
        bytes: usize,
        /// Bytes of the whole frame.
        full: u64,
        /// The time from the first byte to the last that the first picture used.
        receiving: Duration,
        /// The picture.
        picture: &'a Picture,
    },
    /// A frame of video is missing when it is due: the last picture, moved by its own motion. The frame may still
    /// arrive; the player then shows it, unless the screen already shows a later one.
    Conceal {
        /// The number of the missing frame.
        id: u64,
        /// The picture.
        picture: &'a Picture,
    },
    /// No frame arrived in a frame's time, and nothing moves: the last picture again.
    Hold {
        /// The picture.
        picture: &'a Picture,
    },
}
