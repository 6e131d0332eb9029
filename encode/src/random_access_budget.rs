//! Limits random-access frames and switching frames: each costs the encoder a picture, and receivers may ask at any
//! time.

/// The most random-access frames in a row: for a crowd of receivers within a second.
const BURST_FRAMES: u32 = 30;
/// The frames that each further one needs.
const FRAMES_FOR_ONE: u32 = 4;

/// The budget for random-access frames.
#[derive(Debug)]
pub(crate) struct RandomAccessBudget {
    /// Counted in frames: each random-access frame costs [`FRAMES_FOR_ONE`] of them.
    frames: u32,
}

impl Default for RandomAccessBudget {
    fn default() -> Self {
        Self { frames: BURST_FRAMES * FRAMES_FOR_ONE }
    }
}

impl RandomAccessBudget {
    /// Notes that a frame is made.
    pub(crate) fn handle_frame(&mut self) {
        self.frames = (self.frames + 1).min(BURST_FRAMES * FRAMES_FOR_ONE);
    }

    /// Returns whether a random-access frame may be made with this frame; if so, counts it.
    pub(crate) fn take(&mut self) -> bool {
        let left = self.frames.checked_sub(FRAMES_FOR_ONE);
        self.frames = left.unwrap_or(self.frames);
        left.is_some()
    }

    /// Counts one that receivers on their way to another rendition need in any case: later ones wait longer.
    pub(crate) fn spend(&mut self) {
        self.frames = self.frames.saturating_sub(FRAMES_FOR_ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the random-access frames made in this many frames, if each frame asks for one.
    fn joins(budget: &mut RandomAccessBudget, frames: u32) -> usize {
        let frames = (0..frames).filter(|_| {
            budget.handle_frame();
            budget.take()
        });
        frames.count()
    }

    #[test]
    fn a_crowd_has_a_join_with_each_frame_and_who_asks_for_ever_with_every_fourth() {
        let mut budget = RandomAccessBudget::default();
        assert_eq!(joins(&mut budget, 30), 30);
        joins(&mut budget, 100);
        assert_eq!(joins(&mut budget, 400), 100);
        (0..4 * BURST_FRAMES).for_each(|_| budget.handle_frame());
        (0..10).for_each(|_| budget.spend());
        assert_eq!(joins(&mut budget, 30), 27, "those that had to be made count, and thirty frames earn seven");
        (0..2 * BURST_FRAMES).for_each(|_| budget.spend());
        assert_eq!(joins(&mut budget, 4), 1, "and leave no debt");
        (0..4 * BURST_FRAMES).for_each(|_| budget.handle_frame());
        assert_eq!(joins(&mut budget, 30), 30, "after four seconds of rest at 30 frames a second");
    }
}
