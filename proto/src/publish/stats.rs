//! What one receiver was given, and why its frames ended where they did.

use crate::publish::cut::CutReason;

/// What a receiver was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendStats {
    /// Frames of which at least the base was written.
    pub frames: u64,
    /// Frames that were due while an earlier one's base was not written yet, or missed; nothing of these was sent. Of video:
    /// those that were given up because too many bases were owed.
    pub skipped: u64,
    /// Frames that the path or the deadline cut: the sum [`CutCounts::cut`].
    pub cut: u64,
    /// Bytes of frames that were written.
    pub bytes: u64,
    /// Bytes that those frames have in full.
    pub full: u64,
    /// How often the bases of frames on the way were sent again.
    pub again: u64,
    /// Why frames ended where they did.
    pub cut_reasons: CutCounts,
}

/// How many frames of one receiver ended for which reason. Together they are the frames whose streams ended, or were reset before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CutCounts {
    /// All bytes of the frame were written.
    pub whole: u64,
    /// The receiver's cap, or the path's policer, let no more through.
    pub cap: u64,
    /// The next frame was due.
    pub next_due: u64,
    /// The same picture was due again: the rest of the frame follows as late bytes.
    pub picture_stays: u64,
    /// What was written kept the path busy until the next frame was due.
    pub path_busy: u64,
    /// The path's rate fell, and the bases of the frames on the way went again.
    pub rate_fell: u64,
}

impl CutCounts {
    /// Every count with its name.
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

    /// Frames that the path or the deadline cut. A frame that has all that the cap allows is not among them.
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
            // Late bytes end so, and no frame.
            CutReason::BroadcastEnds => {}
        }
        self.cut = reasons.cut();
    }
}
