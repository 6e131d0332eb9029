//! Frames that lead from one rendition to another: they replace the new rendition's frames, and are predicted from the
//! base-layer reference that receivers of the old one have (spec, "Frames").
//!
//! Prior art: the switching pictures of H.264 (Karczewicz and Kurceren, "The SP- and SI-frames design for H.264/AVC",
//! IEEE Trans. Circuits and Systems for Video Technology 13(7), 2003), and the switch frames of AV1.

use crate::motion::field::{Block, Field};
use crate::motion::reference::Reference;
use crate::motion::side_info::SideInfo;
use crate::parallel::Threads;
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::video::state;

/// The number of frames after which receivers have arrived, whatever their error.
const MAX_FRAMES: u8 = 3;
/// They have arrived when the squared error of their picture exceeds that of the new rendition's base-layer reference
/// by at most this fraction of the enhancement reference's error.
const ARRIVED_ERROR_SHARE: [u64; 2] = [1, 8];

/// Receivers that switch from one rendition of [`VideoRenditions`](crate::VideoRenditions) to another, which takes one
/// to three frames.
pub struct Switch {
    /// Their base-layer reference.
    base_reference: Reference,
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
    /// Begins a switch of receivers that have this base-layer reference.
    pub(super) fn new(base_reference: &Reference) -> Self {
        Self {
            base_reference: base_reference.clone(),
            predicted: base_reference.clone(),
            field: Field::default(),
            side: Vec::new(),
            side_info: SideInfo::default(),
            frames: 0,
            arrived: false,
        }
    }

    /// Returns whether they continue with the new rendition's next frame.
    #[must_use]
    pub const fn arrived(&self) -> bool {
        self.arrived
    }

    /// Ends the switch at a frame that is predicted from nothing, because they get that frame too.
    pub(super) const fn arrive(&mut self) {
        self.arrived = true;
    }

    /// Predicts the new rendition's frame from their base-layer reference, by the frame's motion without second
    /// vectors, which point into a picture that they do not have. Returns the side information and the prediction.
    pub(super) fn predict(&mut self, motion: &Field, threads: &Threads, room: &Scratch<i32>) -> (&[u8], &Reference) {
        let Self { base_reference, predicted, field, side, side_info, .. } = self;
        field.copy_from(motion);
        field.bipredicts = false;
        field.last.clear();
        for block in &mut field.blocks {
            if let Block::Bipredicted([first, _]) = *block {
                *block = Block::whole(first);
            }
        }
        *side = side_info.encode(field, std::mem::take(side));
        state::predict_from(base_reference, field, threads, room, predicted);
        (side, predicted)
    }

    /// Advances their base-layer reference as every decoder does.
    pub(super) fn advance(&mut self, residual: &Planes420<i16>, threads: &Threads) -> &Reference {
        state::sum(state::with_prediction(&mut self.base_reference, &self.predicted), residual.slices(), threads);
        &self.base_reference
    }

    /// Counts one more frame. The squared errors against the source are those of their base-layer reference, and of the
    /// new rendition's base-layer reference and enhancement reference.
    pub(super) const fn handle_frame(&mut self, theirs: u64, base_reference: u64, enhancement_reference: u64) {
        self.frames += 1;
        let near = theirs.saturating_sub(base_reference) / ARRIVED_ERROR_SHARE[0]
            <= enhancement_reference / ARRIVED_ERROR_SHARE[1];
        self.arrived = self.frames >= MAX_FRAMES || near;
    }
}
