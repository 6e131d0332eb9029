//! The motion of frames in order: their side information, and the vectors that each leaves for the next.

use crate::error::Error;
use crate::motion::field::Field;
use crate::motion::last_vectors::LastVectors;
use crate::motion::side_info::SideInfo;
use crate::picture::Size;
use crate::video::head::Head;

/// Reads the motion of one frame after the other.
#[derive(Debug, Default)]
pub(super) struct FrameMotion {
    side_info: SideInfo,
    /// The vectors of the last frame that was read.
    pub(super) last: LastVectors,
}

impl FrameMotion {
    /// Reads a frame's side information into `field`, which has no meaning if the frame is predicted from nothing or
    /// its picture stays. Returns `false` and changes nothing else if the frame needs vectors of one that was not read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes end before the last block; then nothing else changed either.
    pub(super) fn read(&mut self, head: &Head, side: &[u8], size: Size, field: &mut Field) -> Result<bool, Error> {
        let Self { side_info, last } = self;
        let (turn, phase) = (head.turn(), head.phase);
        if head.stays {
            last.stand(phase, size);
            return Ok(true);
        }
        if head.key && side.is_empty() {
            last.clear(phase);
            return Ok(true);
        }
        let is_independent = head.key || head.switches;
        if !is_independent && !last.lead_to(phase) {
            return Ok(false);
        }
        let copied = if is_independent { &[] } else { last.of_frame(phase) };
        side_info.decode(side, size, (turn, head.bipredicts), copied, field)?;
        last.set(phase, field);
        Ok(true)
    }
}
