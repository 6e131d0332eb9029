//! Which parts of a picture are predicted from nothing, and when none of a picture that stays needs any work.

use crate::motion::field::{CONSTANT_CYCLE, REFRESH_CYCLE_FRAMES};

const ALL_PHASES: u128 = u128::MAX;
/// After as many frames that renew a picture which moves, a difference of base-layer references is hardly visible:
/// `docs/decisions/0031-recordings-and-replay.md` measures that.
const MOVING_FRAMES: usize = 3 * CONSTANT_CYCLE;
const _: () = assert!(CONSTANT_CYCLE == u128::BITS as usize, "a bit for each phase");

/// What receivers may lack of the base-layer reference.
///
/// A receiver that joined has a base-layer reference near to the others', and one that missed a base has another. A
/// part of a picture that stays is the same for all again once it was predicted from nothing. While a picture moves,
/// vectors and overlap bring back some of the difference from parts whose turn has not come, so that takes several
/// cycles. It takes bytes from all receivers, so it happens only while somebody may lack something.
#[derive(Debug, Clone, Default)]
pub(super) struct Renewal {
    /// Whether receivers join by the encoder's own frames alone.
    pub(super) knows_receivers: bool,
    /// The phases whose part was not predicted from nothing since a receiver joined, in a picture that stays, one bit
    /// for each.
    stale: u128,
    /// How many frames whose picture moves still renew because a receiver joined.
    moving: usize,
    /// Frames in a row in which the picture stayed and nothing was left to code.
    settled: usize,
}

impl Renewal {
    /// Notes that a receiver begins here with a reference that is only near to the others'.
    pub(super) const fn handle_joined(&mut self) {
        (self.stale, self.moving, self.settled) = (ALL_PHASES, MOVING_FRAMES, 0);
    }

    /// Notes a frame that is predicted from nothing: all receivers have it.
    pub(super) const fn handle_key(&mut self) {
        (self.stale, self.moving, self.settled) = (0, 0, 0);
    }

    /// Notes a frame whose picture changes.
    pub(super) const fn handle_change(&mut self) {
        self.settled = 0;
        self.moving = self.moving.saturating_sub(1);
    }

    /// Returns whether a frame whose picture changes renews its part.
    pub(super) const fn renews_moving(&self) -> bool {
        !self.knows_receivers || self.moving > 0
    }

    /// Returns whether the frame of this phase, whose picture stays, renews its part.
    pub(super) const fn renews(&self, phase: u8) -> bool {
        !self.knows_receivers || self.stale >> phase & 1 != 0
    }

    /// Notes a frame of this phase whose picture stays. `is_empty`: there was nothing to code.
    pub(super) const fn handle_same(&mut self, phase: u8, is_empty: bool) {
        self.settled = if is_empty && !self.renews(phase) { self.settled + 1 } else { 0 };
        self.stale &= !(1 << phase);
    }

    /// Returns whether both references are the same and as good as they can be at every receiver, so that a picture
    /// that stays leaves them as they are: every part of the picture was refreshed since anything was left to code, and
    /// none remains to be renewed.
    pub(super) const fn is_settled(&self) -> bool {
        self.settled >= REFRESH_CYCLE_FRAMES && self.stale == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Renewal {
        Renewal { knows_receivers: true, ..Renewal::default() }
    }

    #[test]
    fn a_join_renews_every_part_once_also_with_changes_between() {
        let mut renewal = known();
        assert!((0..128).all(|phase| !renewal.renews(phase)));
        renewal.handle_joined();
        let mut renewed = 0;
        for frame in 0..300_u32 {
            let phase = u8::try_from(frame % 128).expect("below 128");
            if frame % 10 == 9 {
                renewal.handle_change();
                continue;
            }
            renewed += u32::from(renewal.renews(phase));
            renewal.handle_same(phase, true);
        }
        assert_eq!((renewed, renewal.stale), (128, 0));
        renewal.handle_joined();
        renewal.handle_key();
        assert!(!renewal.renews(5), "all have the key frame");
    }

    #[test]
    fn a_picture_that_moves_renews_for_three_cycles_after_a_join() {
        let mut renewal = known();
        assert!(!renewal.renews_moving());
        renewal.handle_joined();
        let mut renewed = 0;
        for _ in 0..1000 {
            renewed += u32::from(renewal.renews_moving());
            renewal.handle_change();
        }
        assert_eq!((renewed, renewal.stale), (384, ALL_PHASES), "a slide that follows is renewed exactly");
        renewal.handle_joined();
        (0..128).for_each(|phase| renewal.handle_same(phase, true));
        assert!(renewal.renews_moving(), "frames that moved in between may have brought back a difference");
        renewal.handle_key();
        assert!(!renewal.renews_moving(), "all have the key frame");
    }

    #[test]
    fn a_picture_does_not_settle_before_every_part_is_renewed() {
        let mut renewal = known();
        renewal.handle_joined();
        let mut renewed = [0; 128];
        for frame in 0..400_u32 {
            let phase = u8::try_from(frame % 128).expect("below 128");
            if (100..110).contains(&frame) {
                renewal.handle_change();
            } else if !renewal.is_settled() {
                renewed[usize::from(phase)] += u32::from(renewal.renews(phase));
                renewal.handle_same(phase, true);
            }
        }
        assert!(renewed == [1; 128] && renewal.is_settled(), "{renewed:?}");
    }

    #[test]
    fn a_picture_settles_after_a_cycle_without_anything_to_code() {
        let mut renewal = known();
        for phase in 0..7 {
            renewal.handle_same(phase, true);
            assert!(!renewal.is_settled());
        }
        renewal.handle_same(7, true);
        assert!(renewal.is_settled());
        for end in [Renewal::handle_joined, Renewal::handle_key, Renewal::handle_change] {
            let mut renewal = renewal.clone();
            end(&mut renewal);
            assert!(!renewal.is_settled());
        }
        renewal.handle_same(8, false);
        assert!(!renewal.is_settled());
    }

    #[test]
    fn without_knowledge_of_receivers_it_always_renews() {
        let mut renewal = Renewal::default();
        for phase in (0..128).chain(0..20) {
            assert!(renewal.renews(phase));
            renewal.handle_same(phase, true);
        }
        assert!(!renewal.is_settled());
    }
}
