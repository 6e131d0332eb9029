//! The loop of a video that one receiver is in.

use nestcast_proto::{Frame, Publisher};

/// The number of the loop, once a frame of a video that has loops came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InLoop(pub(super) Option<u64>);

impl InLoop {
    /// The frame as the loop has it that `receiver` is in from now on. What a receiver that comes from another loop was to get
    /// of that is of no use any more.
    pub(super) fn enter(&mut self, frame: Frame, receiver: u64, publisher: &mut Publisher) -> Frame {
        let Some(entered) = frame.loop_of(receiver) else { return frame };
        let goes_on = |before| entered.number == before || entered.follows == Some(before);
        if !self.0.is_none_or(goes_on) {
            publisher.handle_other_loop();
        }
        self.0 = Some(entered.number);
        frame.in_loop(entered)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use nestcast_proto::{Join, LoopFrame, PathStats};

    use super::*;

    const INTERVAL: Duration = Duration::from_millis(40);

    fn in_a_loop(number: u64, follows: Option<u64>, receivers: &[u64]) -> LoopFrame {
        let bytes = Bytes::from(vec![7; 100 + usize::try_from(number).expect("small")]);
        let join = Some(Join { base: 3, bytes: Bytes::from_static(b"new") });
        LoopFrame { number, follows, receivers: receivers.to_vec(), base: 9, bytes, join }
    }

    fn frame(id: u64, loops: Vec<LoopFrame>) -> Frame {
        let LoopFrame { base, bytes, join, .. } = loops[0].clone();
        Frame { id, skipped: 0, captured: 0, since: id, base, bytes, join, loops: Some(loops.into()) }
    }

    #[test]
    fn a_branch_is_gone_on_with_and_another_loop_begins_anew() {
        let mut publisher = Publisher::new(INTERVAL, None).of_video(INTERVAL);
        let mut in_loop = InLoop::default();
        let mut enter = |id, loops| {
            let entered = in_loop.enter(frame(id, loops), 5, &mut publisher);
            let anew = publisher.needs_join();
            publisher.handle_frame(INTERVAL * u32::try_from(id).expect("few"), &entered, &PathStats::default());
            (entered.bytes.len(), anew)
        };
        assert_eq!(enter(0, vec![in_a_loop(0, None, &[])]), (100, true), "it is new, and in the first loop");
        assert_eq!(enter(1, vec![in_a_loop(0, None, &[2, 5])]), (100, false));
        let branch = vec![in_a_loop(0, None, &[2]), in_a_loop(1, Some(0), &[3, 5])];
        assert_eq!(enter(2, branch), (101, false), "it goes on");
        assert_eq!(enter(3, vec![in_a_loop(0, None, &[2]), in_a_loop(1, None, &[3, 5])]), (101, false));
        assert_eq!(enter(4, vec![in_a_loop(0, None, &[2, 5]), in_a_loop(1, None, &[3])]), (100, true), "anew");
        assert_eq!(
            enter(5, vec![in_a_loop(2, Some(1), &[3]), in_a_loop(1, None, &[])]),
            (102, true),
            "its loop is gone"
        );
    }
}
