//! A frame as an encoder passes it to all receivers, and the rendition of it that one receiver gets.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::frame::Frame;

/// A frame in all its renditions. Clones share its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroadcastFrame {
    /// The frame; if there are renditions, the first one's.
    pub frame: Frame,
    /// The frame in each rendition, for video that may have several. Frame numbers, skipped pictures and capture times
    /// are the same in all.
    pub renditions: Option<Arc<[Rendition]>>,
    /// How long encoding took, for all renditions together.
    pub encode_time: Duration,
}

/// A frame of video encoded for some of the receivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendition {
    /// The rendition's number, unique in the video's lifetime.
    pub number: u64,
    /// A rendition whose receivers can decode this frame too: this one branches off it with this frame, or takes over
    /// its receivers.
    pub follows: Option<u64>,
    /// The receivers in it, in ascending order of their [numbers](crate::DemandEntry::receiver). A receiver that no
    /// rendition names gets the first.
    pub receivers: Vec<u64>,
    /// The frame for these receivers.
    pub frame: Frame,
}

impl From<Frame> for BroadcastFrame {
    /// Makes a frame with one rendition and zero encoding time.
    fn from(frame: Frame) -> Self {
        Self { frame, renditions: None, encode_time: Duration::ZERO }
    }
}

impl BroadcastFrame {
    /// Returns a receiver's rendition; `None` if the frame has no renditions.
    #[must_use]
    pub fn rendition_of(&self, receiver: u64) -> Option<&Rendition> {
        let renditions = self.renditions.as_ref()?;
        let names = |rendition: &&Rendition| rendition.receivers.binary_search(&receiver).is_ok();
        renditions.iter().find(names).or_else(|| renditions.first())
    }

    /// Returns the rendition with the most bytes, of those that `is_preferred` says if there are any; `None` if the frame
    /// has no renditions.
    fn longest(&self, is_preferred: impl Fn(&Rendition) -> bool) -> Option<&Rendition> {
        self.renditions.as_ref()?.iter().max_by_key(|it| (is_preferred(it), it.frame.bytes.len()))
    }
}

impl Rendition {
    /// Returns whether a receiver of this rendition can decode the frame.
    fn continues(&self, before: u64) -> bool {
        self.number == before || self.follows == Some(before)
    }
}

/// Chooses a receiver's rendition of each frame, and detects when it does not continue the previous one.
#[derive(Debug, Clone)]
pub struct RenditionFollower {
    /// The receiver's number; `None` for a recorder.
    receiver: Option<u64>,
    rendition: Option<u64>,
}

/// A receiver's rendition of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed<'a> {
    /// The frame for the receiver.
    pub frame: &'a Frame,
    /// Whether the receiver cannot decode it from the earlier frames: its backlog in the other rendition is useless,
    /// and it needs a [random-access frame](crate::RandomAccessFrame).
    pub begins_anew: bool,
}

impl RenditionFollower {
    /// Follows the renditions of the receiver with this [number](crate::DemandEntry::receiver).
    #[must_use]
    pub const fn new(receiver: u64) -> Self {
        Self { receiver: Some(receiver), rendition: None }
    }

    /// Follows the longest frames, for a recorder. It is in no rendition, so encoders do not count it. It stays where it
    /// is while it can, and takes the longest frame where one branches off.
    #[must_use]
    pub const fn of_recorder() -> Self {
        Self { receiver: None, rendition: None }
    }

    /// Returns the rendition's number of the newest frame; `None` before the first, and if there are no renditions.
    #[must_use]
    pub const fn rendition(&self) -> Option<u64> {
        self.rendition
    }

    /// Chooses the receiver's rendition of the next frame.
    pub fn follow<'a>(&mut self, frame: &'a BroadcastFrame) -> Followed<'a> {
        let before = self.rendition;
        let goes_on = |entered: &Rendition| before.is_none_or(|before| entered.continues(before));
        let entered = match self.receiver {
            Some(receiver) => frame.rendition_of(receiver),
            None => frame.longest(goes_on),
        };
        let Some(entered) = entered else { return Followed { frame: &frame.frame, begins_anew: false } };
        self.rendition = Some(entered.number);
        Followed { frame: &entered.frame, begins_anew: !goes_on(entered) }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// Makes a rendition of frame `id`, whose length tells its number.
    fn rendition(id: u64, number: u64, follows: Option<u64>, receivers: &[u64]) -> Rendition {
        let bytes = Bytes::from(vec![7; 100 + usize::try_from(number).expect("small")]);
        let frame = Frame { id, skipped: 0, captured: 0, since: id, base: 9, bytes, join: None };
        Rendition { number, follows, receivers: receivers.to_vec(), frame }
    }

    fn frame(renditions: Vec<Rendition>) -> BroadcastFrame {
        BroadcastFrame { renditions: Some(renditions.clone().into()), ..renditions[0].frame.clone().into() }
    }

    #[test]
    fn a_branch_goes_on_and_another_rendition_begins_anew() {
        let mut follower = RenditionFollower::new(5);
        let mut follow = |renditions| {
            let frame = frame(renditions);
            let followed = follower.follow(&frame);
            (followed.frame.bytes.len(), followed.begins_anew)
        };
        let first = rendition(0, 0, None, &[]);
        assert_eq!(follow(vec![first]), (100, false), "a receiver that no rendition names is in the first");
        assert_eq!(follow(vec![rendition(1, 0, None, &[2, 5])]), (100, false));
        let branch = vec![rendition(2, 0, None, &[2]), rendition(2, 1, Some(0), &[3, 5])];
        assert_eq!(follow(branch), (101, false), "it goes on");
        assert_eq!(follow(vec![rendition(3, 0, None, &[2]), rendition(3, 1, None, &[3, 5])]), (101, false));
        let back = vec![rendition(4, 0, None, &[2, 5]), rendition(4, 1, None, &[3])];
        assert_eq!(follow(back), (100, true), "anew");
        let gone = vec![rendition(5, 2, Some(1), &[3]), rendition(5, 1, None, &[])];
        assert_eq!(follow(gone), (102, true), "its rendition is gone");
        assert_eq!(follower.rendition(), Some(2));
    }

    #[test]
    fn a_recorder_takes_the_longest_frames_that_it_can_go_on_with() {
        let mut follower = RenditionFollower::of_recorder();
        let mut follow = |renditions| {
            let frame = frame(renditions);
            let followed = follower.follow(&frame);
            (followed.frame.bytes.len(), followed.begins_anew)
        };
        assert_eq!(follow(vec![rendition(0, 3, None, &[1]), rendition(0, 4, None, &[])]), (104, false));
        let longer = vec![rendition(1, 4, None, &[2]), rendition(1, 9, None, &[1])];
        assert_eq!(follow(longer), (104, false), "it cannot go to the longer one");
        let branches = vec![rendition(2, 4, None, &[2]), rendition(2, 7, Some(4), &[3]), rendition(2, 9, None, &[1])];
        assert_eq!(follow(branches), (107, false));
        assert_eq!(follow(vec![rendition(3, 2, None, &[]), rendition(3, 5, None, &[])]), (105, true), "it is gone");
        let single = BroadcastFrame::from(rendition(4, 0, None, &[]).frame);
        assert_eq!(follower.follow(&single), Followed { frame: &single.frame, begins_anew: false });
    }

    #[test]
    fn a_frame_without_renditions_is_for_everybody() {
        let frame = BroadcastFrame::from(rendition(0, 0, None, &[]).frame);
        let mut follower = RenditionFollower::new(5);
        assert_eq!(follower.follow(&frame), Followed { frame: &frame.frame, begins_anew: false });
        assert_eq!(follower.rendition(), None);
    }
}
