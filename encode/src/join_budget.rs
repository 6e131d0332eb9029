//! How many join frames and switching frames may be made: each costs the encoder a picture, and receivers may ask at any time.

/// Join frames that may be made one after another: for a crowd that comes within a second.
const BURST: u32 = 30;
/// Each further one needs this many frames.
const FRAMES_FOR_ONE: u32 = 4;

/// Join frames that may be made now.
#[derive(Debug)]
pub(crate) struct JoinBudget {
    /// In frames: each join costs [`FRAMES_FOR_ONE`] of them.
    frames: u32,
}

impl Default for JoinBudget {
    fn default() -> Self {
        Self { frames: BURST * FRAMES_FOR_ONE }
    }
}

impl JoinBudget {
    /// A frame is made.
    pub(crate) fn handle_frame(&mut self) {
        self.frames = (self.frames + 1).min(BURST * FRAMES_FOR_ONE);
    }

    /// Returns whether a join frame may be made with it; if so, counts it.
    pub(crate) fn take(&mut self) -> bool {
        let left = self.frames.checked_sub(FRAMES_FOR_ONE);
        self.frames = left.unwrap_or(self.frames);
        left.is_some()
    }

    /// Counts one that is made in any case, because receivers on the way to another rendition need it: later ones wait for longer.
    pub(crate) fn spend(&mut self) {
        self.frames = self.frames.saturating_sub(FRAMES_FOR_ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins that are made for this many frames, if each is asked for with one.
    fn joins(budget: &mut JoinBudget, frames: u32) -> usize {
        let frames = (0..frames).filter(|_| {
            budget.handle_frame();
            budget.take()
        });
        frames.count()
    }

    #[test]
    fn a_crowd_has_a_join_with_each_frame_and_who_asks_for_ever_with_every_fourth() {
        let mut budget = JoinBudget::default();
        assert_eq!(joins(&mut budget, 30), 30);
        joins(&mut budget, 100);
        assert_eq!(joins(&mut budget, 400), 100);
        (0..4 * BURST).for_each(|_| budget.handle_frame());
        (0..10).for_each(|_| budget.spend());
        assert_eq!(joins(&mut budget, 30), 27, "those that had to be made count, and thirty frames earn seven");
        (0..2 * BURST).for_each(|_| budget.spend());
        assert_eq!(joins(&mut budget, 4), 1, "and leave no debt");
        (0..4 * BURST).for_each(|_| budget.handle_frame());
        assert_eq!(joins(&mut budget, 30), 30, "after four seconds of rest at 30 frames a second");
    }
}
