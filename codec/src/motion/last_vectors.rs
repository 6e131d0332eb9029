//! The vectors of the last frame, which blocks of the next one can copy (spec, "Motion").
//!
//! Prior art: the temporal candidates of merge mode (Recommendation ITU-T H.265, section 8.5.3.2.8). H.265 takes those at
//! the block's lower right and centre; here they are of the block itself, and of those to the right and below, whose
//! motion in this frame is not known yet.

use crate::motion::field::{Block, Field, Turn};
use crate::motion::side_info::SideInfo;
use crate::motion::vector::Vector;
use crate::picture::Size;

/// Frames whose phase is a multiple of this copy no vectors of the last frame, so that a decoder which missed a frame can
/// go on with them.
const INDEPENDENT_CYCLE: u8 = 32;
/// The phases of the refresh cycle.
const PHASES: u8 = 128;

/// What is known of the last frame's motion.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastVectors {
    /// The frame's place in the refresh cycle; `None` before the first frame.
    phase: Option<u8>,
    /// By block; empty if the frame has no motion.
    vectors: Vec<Option<Vector>>,
}

impl LastVectors {
    /// Returns whether they are all that a frame of this phase needs: those of the frame before it, unless it copies
    /// none.
    pub(crate) fn lead_to(&self, phase: u8) -> bool {
        !copies(phase) || self.phase == Some((phase + PHASES - 1) % PHASES)
    }

    /// Notes a frame without motion.
    pub(crate) fn clear(&mut self, phase: u8) {
        self.phase = Some(phase);
        self.vectors.clear();
    }

    /// Notes a frame with this motion.
    pub(crate) fn set(&mut self, phase: u8, field: &Field) {
        self.phase = Some(phase);
        self.vectors.clear();
        self.vectors.extend(field.blocks.iter().map(|block| block.vector(0)));
    }

    /// Notes a frame of this size whose picture stays.
    pub(crate) fn stand(&mut self, phase: u8, size: Size) {
        self.phase = Some(phase);
        self.vectors.clear();
        self.vectors.resize(Field::grid(size).iter().product(), Some(Vector::ZERO));
    }

    /// Returns those that a frame of this phase can copy; none if it copies none.
    pub(crate) fn of_frame(&self, phase: u8) -> &[Option<Vector>] {
        if copies(phase) { &self.vectors } else { &[] }
    }

    /// Returns them as the side information of a frame that copies none, for a decoder that begins after their frame.
    /// It has no bytes if there are none. It has none either if all are zero, but to copy those and to copy none is the
    /// same.
    pub(crate) fn encode(&self, size: Size) -> Vec<u8> {
        let mut field = Field::default();
        field.reset(size, Turn { phase: self.phase.unwrap_or(0), renews: false }, &[]);
        if self.vectors.len() != field.blocks.len() {
            return Vec::new();
        }
        for (block, vector) in field.blocks.iter_mut().zip(&self.vectors) {
            *block = vector.map_or(Block::Constant(0), Block::whole);
        }
        SideInfo::default().encode(&field, Vec::new())
    }
}

/// Returns whether a frame of this phase copies vectors of the last one.
const fn copies(phase: u8) -> bool {
    !phase.is_multiple_of(INDEPENDENT_CYCLE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size() -> Size {
        Size::new(105, 70).expect("a valid size")
    }

    #[test]
    fn a_frame_needs_the_one_before_unless_its_phase_is_a_multiple_of_32() {
        let mut last = LastVectors::default();
        assert_eq!((0..128).filter(|phase| last.lead_to(*phase)).collect::<Vec<_>>(), [0, 32, 64, 96]);
        for phase in 0..128 {
            last.stand(phase, size());
            let next = (phase + 1) % 128;
            assert!((0..128).all(|other| last.lead_to(other) == (other == next || other % 32 == 0)));
            assert_eq!(last.of_frame(next).len(), if next % 32 == 0 { 0 } else { 35 });
        }
    }

    proptest! {
        #[test]
        fn who_begins_after_a_frame_has_its_vectors(
            phase in 0..128_u8,
            vectors in prop::collection::vec(prop::option::of((-900..900_i16, -90..90_i16)), 35),
        ) {
            let vectors: Vec<_> = vectors.into_iter().map(|vector| vector.map(|(x, y)| Vector { x, y })).collect();
            let last = LastVectors { phase: Some(phase), vectors };
            let bytes = last.encode(size());
            let (turn, mut field) = (Turn { phase, renews: false }, Field::default());
            SideInfo::default().decode(&bytes, size(), (turn, false), &[], &mut field).expect("a motion");
            let mut read = LastVectors::default();
            read.set(phase, &field);
            prop_assert_eq!((read.phase, read.vectors), (last.phase, last.vectors));
        }
    }

    #[test]
    fn a_frame_without_motion_leaves_no_bytes() {
        let mut last = LastVectors::default();
        last.clear(5);
        assert!(last.encode(size()).is_empty());
    }
}
