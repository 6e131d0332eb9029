//! Counts frames that cannot be decoded, and keeps the newest.

use nestcast_codec::{DecodeError, Error, TransformError};

/// The most consecutive frames that may fail to decode before the player gives up the sender: three seconds of them.
pub(crate) const MAX_CORRUPT_FRAMES: u32 = 100;

/// Why a frame cannot be decoded or drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameFault {
    /// The picture has another size than the sender announced.
    #[error("it has another size than announced")]
    Size,
    /// The bytes end inside the picture's header.
    #[error("it ends inside its header")]
    InsideHeader,
    /// The bytes end inside the frame's motion, or the frame copies motion of one before it that was not decoded.
    #[error("its motion did not come")]
    InsideMotion,
    /// The frame is predicted from earlier ones, and none came.
    #[error("the frames before it did not come")]
    NoBeginning,
    /// More bytes arrived for a frame of video, which uses none after it is shown.
    #[error("late bytes came of video")]
    LateBytes,
    /// The codec refuses the bytes.
    #[error(transparent)]
    Codec(#[from] Error),
    /// A still picture cannot be drawn.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The transform or the restoration, of the codec or of the caller, cannot draw a frame of video.
    #[error(transparent)]
    Transform(#[from] TransformError),
}

/// A frame whose bytes are no picture.
#[derive(Debug)]
pub struct CorruptFrame {
    /// The frame's number.
    pub id: u64,
    /// The error.
    pub why: FrameFault,
}

/// Counts corrupt frames since the last picture that could be drawn.
#[derive(Debug, Default)]
pub(crate) struct CorruptFrames {
    in_a_row: u32,
    newest: Option<CorruptFrame>,
}

impl CorruptFrames {
    /// Counts another corrupt frame. Returns its cause if there are too many.
    pub(crate) fn note(&mut self, frame: CorruptFrame) -> Result<(), FrameFault> {
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row >= MAX_CORRUPT_FRAMES {
            return Err(frame.why);
        }
        self.newest = Some(frame);
        Ok(())
    }

    /// Notes that a picture was drawn.
    pub(crate) const fn handle_drawn(&mut self) {
        self.in_a_row = 0;
    }

    /// Returns the newest corrupt frame, once.
    pub(crate) const fn poll(&mut self) -> Option<CorruptFrame> {
        self.newest.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_in_a_row_are_too_many_and_the_newest_is_told_once() {
        let mut corrupt = CorruptFrames::default();
        let mut note = |id: u64| corrupt.note(CorruptFrame { id, why: FrameFault::InsideMotion });
        assert!((0..99).all(|id| note(id).is_ok()));
        assert_eq!(note(99), Err(FrameFault::InsideMotion), "too many");
        corrupt.handle_drawn();
        assert!(corrupt.note(CorruptFrame { id: 100, why: FrameFault::Size }).is_ok());
        assert_eq!((corrupt.poll().map(|frame| frame.id), corrupt.poll().map(|frame| frame.id)), (Some(100), None));
    }
}
