//! From one loop to another: frames that stand in the place of the new loop's, and are predicted from the floor that
//! receivers of the old one have (spec, "Frames").
//!
//! Prior art: the switching pictures of H.264 (Karczewicz and Kurceren, "The SP- and SI-frames design for H.264/AVC", IEEE
//! Trans. Circuits and Systems for Video Technology 13(7), 2003), and the switch frames of AV1.

use crate::motion::field::{Block, Field};
use crate::motion::overlap::Overlap;
use crate::motion::reference::Reference;
use crate::motion::side_info::SideInfo;
use crate::residual::planes::Planes420;
use crate::video::state;

/// Frames in which receivers arrive, however much they lack then.
const MAX_FRAMES: u8 = 3;
/// They have arrived when the squared error of their picture exceeds that of the new loop's floor by at most this share of the enhanced
/// picture's.
const NEAR: [u64; 2] = [1, 8];

/// Receivers on their way from one loop of [`VideoLoops`](crate::VideoLoops) to another, which takes them one to three frames.
pub struct Switch {
    /// Their floor.
    floor: Reference,
    predicted: Reference,
    field: Field,
    side: Vec<u8>,
    side_info: SideInfo,
    frames: u8,
    arrived: bool,
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("arrived", &self.arrived).finish_non_exhaustive()
    }
}

impl Switch {
    /// Of receivers who have this floor.
    pub(super) fn new(floor: &Reference) -> Self {
        Self {
            floor: floor.clone(),
            predicted: floor.clone(),
            field: Field::default(),
            side: Vec::new(),
            side_info: SideInfo::default(),
            frames: 0,
            arrived: false,
        }
    }

    /// Whether they go on with the new loop's next frame.
    #[must_use]
    pub const fn arrived(&self) -> bool {
        self.arrived
    }

    /// A frame that is predicted from nothing is theirs too.
    pub(super) const fn arrive(&mut self) {
        self.arrived = true;
    }

    /// Predicts the new loop's frame from their floor, by its motion but for second vectors, which lead into a picture that they
    /// do not have. Gives its side information and the prediction.
    pub(super) fn predict(&mut self, motion: &Field, threads: usize, room: &mut [Overlap; 6]) -> (&[u8], &Reference) {
        let Self { floor, predicted, field, side, side_info, .. } = self;
        field.copy_from(motion);
        field.bipredicts = false;
        for block in &mut field.blocks {
            if let Block::Bipredicted([first, _]) = *block {
                *block = Block::whole(first);
            }
        }
        *side = side_info.encode(field, std::mem::take(side));
        state::predict_from(floor, field, threads, room, predicted);
        (side, predicted)
    }

    /// Moves their floor on as every decoder does.
    pub(super) fn advance(&mut self, residual: &Planes420<i16>, threads: usize) -> &Reference {
        state::sum(&mut self.floor, &self.predicted, residual, threads);
        &self.floor
    }

    /// They have a frame more. The squared errors for the source are of their floor, and of the new loop's floor and enhanced
    /// picture.
    pub(super) const fn handle_frame(&mut self, theirs: u64, floor: u64, enhanced: u64) {
        self.frames += 1;
        let near = theirs.saturating_sub(floor) / NEAR[0] <= enhanced / NEAR[1];
        self.arrived = self.frames >= MAX_FRAMES || near;
    }
}
