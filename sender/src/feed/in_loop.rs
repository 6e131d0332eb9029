//! The loop of a video that one receiver is in.

use nestcast_proto::{Frame, SenderSession};

/// The number of the loop, once a frame of a video that has loops came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InLoop(pub(super) Option<u64>);

impl InLoop {
    /// The frame as the loop has it that `receiver` is in from now on. What a receiver that comes from another loop was to get
    /// of that is of no use any more.
    pub(super) fn enter(&mut self, frame: Frame, receiver: u64, session: &mut SenderSession) -> Frame {
        let Some(entered) = frame.loop_of(receiver) else { return frame };
        let goes_on = |before| entered.number == before || entered.follows == Some(before);
        if !self.0.is_none_or(goes_on) {
            session.handle_other_rendition();
        }
        self.0 = Some(entered.number);
        frame.in_loop(entered)
    }
}
