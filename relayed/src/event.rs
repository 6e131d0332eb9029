//! What the tracks of a broadcast bring.

use bytes::Bytes;

use crate::track::Track;

/// What a track brings, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A group of base layers began.
    BaseGroup(u64),
    /// Bytes of a group; of the base track, those of the frame of this number.
    Bytes(Track, u64, Bytes),
    /// A packet of sound: its stream in a session.
    Sound(Bytes),
    /// A group ended, or an object of the base track. Of base layers and random-access frames, only those that are
    /// whole count.
    GroupEnd(Track, u64),
}
