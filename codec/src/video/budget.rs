//! Cuts frame after frame to a rate, as a sender would.

use nestcast_units::{Bitrate, FrameRate};

use crate::error::Error;
use crate::video::head::Head;

/// The byte budget of one receiver's rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Bytes of a frame at this rate, with the fraction of a byte.
    bytes_a_frame: f64,
    /// Bytes in hand; negative after bases that needed more.
    left: f64,
}

impl Budget {
    /// Begins the budget of a receiver with this bitrate.
    #[must_use]
    pub fn new(bitrate: Bitrate, rate: FrameRate) -> Self {
        let bytes_a_frame = bitrate.bits() as f64 / 8.0 * f64::from(rate.seconds()) / f64::from(rate.frames());
        Self { bytes_a_frame, left: 0.0 }
    }

    /// Returns how many of a frame's bytes to send, with `overhead` bytes more on the network: as many as the rate
    /// allows, but at least the whole base. Later frames pay for a base that is too large; unused bytes expire.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the frame's head is corrupt or cut.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "bytes of a frame"
    )]
    pub fn cut(&mut self, frame: &[u8], overhead: usize) -> Result<usize, Error> {
        let why = "it ends inside its head";
        let (head, length) = Head::parse(frame)?.ok_or(Error::Corrupt { what: "frame", why })?;
        let base = (length + head.side + head.base_reference).min(frame.len());
        self.left += self.bytes_a_frame;
        let count = (self.left.max(0.0) as usize).saturating_sub(overhead).clamp(base, frame.len());
        self.left = (self.left - (count + overhead) as f64).min(1.0);
        Ok(count)
    }
}
