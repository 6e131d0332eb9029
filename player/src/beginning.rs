//! Where to begin with the frames of a video: with one that is predicted from nothing.

use nestcast_codec::FrameHead;

/// Frames that wait for one to begin with, at most, if none comes. What is then shown becomes right with frames that
/// renew.
pub const MAX_FRAMES_BEFORE_BEGINNING: u8 = 16;

/// Leaves out the first frames of a connection's video until one comes that is predicted from nothing. It leaves out at
/// most [`MAX_FRAMES_BEFORE_BEGINNING`] frames.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// Frames that may still be left out.
    patience: u8,
}

impl Default for Beginning {
    fn default() -> Self {
        Self { patience: MAX_FRAMES_BEFORE_BEGINNING }
    }
}

impl Beginning {
    /// Returns whether to leave out this frame, of which `prefix` has the first bytes, and ask for one to begin with.
    /// Bytes whose head is incomplete or damaged are not left out.
    pub fn leaves_out(&mut self, prefix: &[u8]) -> bool {
        let is_predicted = FrameHead::parse(prefix).is_ok_and(|head| head.is_some_and(|head| !head.key));
        let leaves_out = is_predicted && self.patience > 0;
        self.patience -= u8::from(leaves_out);
        leaves_out
    }

    /// Notes that the frame was used: from now on none is left out.
    pub const fn handle_begun(&mut self) {
        self.patience = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head of 5 bytes; the first bit says that the frame is predicted from nothing.
    const KEY: [u8; 6] = [0x80, 0, 0, 0, 0, 0];

    #[test]
    fn sixteen_predicted_frames_are_left_out_and_none_after_the_beginning() {
        let predicted = [0; 40];
        let mut beginning = Beginning::default();
        assert!(!beginning.leaves_out(&[]), "it has no head");
        assert_eq!((0..20).filter(|_| beginning.leaves_out(&predicted)).count(), 16);
        let mut beginning = Beginning::default();
        assert!(beginning.leaves_out(&predicted) && !beginning.leaves_out(&KEY) && beginning.leaves_out(&predicted));
        beginning.handle_begun();
        assert!(!beginning.leaves_out(&predicted));
    }
}
