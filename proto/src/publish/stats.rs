//! What one receiver was sent, and why its frames ended where they did.

use crate::publish::cut::CutReason;

/// What a receiver was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendStats {
    /// Frames whose base layer, at least, was written.
    pub frames: u64,
    /// Frames of which nothing was sent: they were due while an earlier base layer was unwritten, or were missed. For
    /// video: frames dropped because the backlog was too long.
    pub skipped: u64,
    /// Frames that the path or the deadline cut: the sum [`CutCounts::cut`].
    pub cut: u64,
    /// Bytes of frames that were written.
    pub bytes: u64,
    /// Full size of those frames in bytes.
    pub full: u64,
    /// How often the base layers of frames in flight were sent again.
    pub again: u64,
    /// Why frames ended where they did.
    pub cut_reasons: CutCounts,
    /// The sound with the frames.
    pub sound: SoundSendStats,
}

/// The sound that one receiver was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundSendStats {
    /// Packets that were sent.
    pub packets: u64,
    /// Bytes of their streams, heads included.
    pub bytes: u64,
    /// Packets that were due but not sent: the path was down, or the receiver's cap is below twice the sound's rate.
    pub skipped: u64,
}

/// One receiver's frames by the reason for their end. The sum is the number of frames whose streams finished or were
/// reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CutCounts {
    /// All bytes of the frame were written.
    pub whole: u64,
    /// The receiver's cap, or the path's policer, allowed no more.
    pub cap: u64,
    /// The next frame was due.
    pub next_due: u64,
    /// The same picture was due again: the rest of the frame follows as progressive refinement.
    pub picture_stays: u64,
    /// Written bytes kept the path busy until the next frame was due.
    pub path_busy: u64,
    /// The path's rate fell, and the base layers of the frames in flight were sent again.
    pub rate_fell: u64,
}

impl CutCounts {
    /// Returns every count with its name.
    #[must_use]
    pub const fn each(&self) -> [(&'static str, u64); 6] {
        [
            ("whole", self.whole),
            ("cap", self.cap),
            ("next_due", self.next_due),
            ("picture_stays", self.picture_stays),
            ("path_busy", self.path_busy),
            ("rate_fell", self.rate_fell),
        ]
    }

    /// Returns the frames that the path or the deadline cut. It does not count frames with all that the cap allows.
    #[must_use]
    pub const fn cut(&self) -> u64 {
        self.next_due + self.picture_stays + self.path_busy + self.rate_fell
    }
}

impl SendStats {
    /// Counts a frame that ended.
    pub(crate) const fn handle_cut(&mut self, reason: CutReason) {
        let reasons = &mut self.cut_reasons;
        match reason {
            CutReason::Whole => reasons.whole += 1,
            CutReason::Cap => reasons.cap += 1,
            CutReason::NextDue => reasons.next_due += 1,
            CutReason::PictureStays => reasons.picture_stays += 1,
            CutReason::PathBusy => reasons.path_busy += 1,
            CutReason::RateFell => reasons.rate_fell += 1,
            // Only late bytes end like this, not frames.
            CutReason::BroadcastEnds => {}
        }
        self.cut = reasons.cut();
    }
}
