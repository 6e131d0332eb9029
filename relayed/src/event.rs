//! What the tracks of a broadcast bring.

use bytes::Bytes;

use crate::track::Track;

/// What a track brings, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A group of base layers began.
    BaseGroup(u64),
    /// Some bytes came.
    Bytes(Piece),
    /// A packet of sound: its stream in a session.
    Sound(Bytes),
    /// What a [`Piece`] is a part of ended. Base layers and random-access frames count only if all of them came.
    End {
        /// The track.
        track: Track,
        /// The number, as in [`Piece`].
        number: u64,
        /// The number of all its bytes.
        length: u64,
    },
}

/// Bytes of a group, or of one object of the base track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The track.
    pub track: Track,
    /// The number of the group, and of the frame; of the base track, that of the object's frame.
    pub number: u64,
    /// How many bytes of it are before these. If some before them were not passed on, these are of no use.
    pub offset: u64,
    /// The bytes.
    pub bytes: Bytes,
}
