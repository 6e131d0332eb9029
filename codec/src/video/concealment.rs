//! The motion for a missing frame: that of the last frame, continued. Decoding does not need it, and nothing is
//! predicted from it.

use crate::motion::field::{Block, Field, Source};
use crate::motion::vector::Vector;

/// The motion of the last frames, and memory for that of the next.
#[derive(Debug, Default)]
pub(super) struct Motion {
    /// Without blocks if the last frame was predicted from nothing, or there was none.
    last: Field,
    before: Field,
    /// The memory into which the next frame's motion is decoded, or the last one's continued.
    pub(super) next: Field,
}

impl Motion {
    /// Advances to a frame whose motion is in `next`, and returns that motion.
    pub(super) fn advance(&mut self) -> &Field {
        std::mem::swap(&mut self.before, &mut self.next);
        std::mem::swap(&mut self.before, &mut self.last);
        &self.last
    }

    /// Notes a frame that was predicted from nothing: no motion leads to it.
    pub(super) fn forget(&mut self) {
        self.last.blocks.clear();
        self.before.blocks.clear();
    }

    /// Sets `next` to the last frame's motion over `frames` more frames; each has the persistent fraction of the motion
    /// of the one before. Returns whether anything moves.
    pub(super) fn carry_on(&mut self, frames: u32) -> bool {
        let Self { last, before, next } = self;
        let persistence = persistence(last, before);
        let shares = std::iter::successors(Some(persistence), |share| Some(share * persistence));
        let way: f64 = shares.take(frames.min(MAX_FRAMES) as usize).sum();
        let carried = |vector: Vector| Vector { x: scaled(vector.x, way), y: scaled(vector.y, way) };
        (next.across, next.down) = (last.across, last.down);
        next.sources.clear();
        next.sources.resize(last.blocks.len(), Source::EnhancementReference);
        next.blocks.clear();
        next.blocks.extend(last.blocks.iter().map(|block| match block {
            Block::Moved(vectors) => Block::Moved(vectors.map(carried)),
            Block::Bipredicted([first, _]) => Block::whole(carried(*first)),
            Block::Constant(_) => Block::whole(Vector::ZERO),
        }));
        let stands = |block: &Block| block.one_vector() == Some(Vector::ZERO);
        !next.blocks.iter().all(stands)
    }
}

/// After this many frames all motion has ended.
const MAX_FRAMES: u32 = 64;

/// Returns the fraction of a frame's motion that persists in the next one, 0 to 1. It is the square root of how much
/// the last two frames' vectors agree: each frame's vectors have errors of their own, which count twice in a
/// comparison.
///
/// A shaken camera moves back as often as on. Then the fraction is near 0, and the picture stands.
fn persistence(last: &Field, before: &Field) -> f64 {
    let mut both = 0;
    let mut squares = [0; 2];
    for (last, before) in last.blocks.iter().zip(&before.blocks) {
        for partition in 0..4 {
            let vectors = [last, before].map(|block| block.vector(partition).unwrap_or(Vector::ZERO));
            both += product(vectors[0], vectors[1]);
            squares.iter_mut().zip(vectors).for_each(|(sum, vector)| *sum += product(vector, vector));
        }
    }
    let most = squares[0].max(squares[1]);
    if most == 0 { 0.0 } else { (both.max(0) as f64 / most as f64).sqrt() }
}

fn product(a: Vector, b: Vector) -> i64 {
    i64::from(a.x) * i64::from(b.x) + i64::from(a.y) * i64::from(b.y)
}

#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
fn scaled(part: i16, way: f64) -> i16 {
    (f64::from(part) * way).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::field::Turn;
    use crate::picture::Size;

    /// A field of two blocks, the second of which is static.
    fn field(x: i16, y: i16) -> Field {
        let mut field = Field::default();
        field.reset(Size::new(32, 16).expect("a valid size"), Turn::default(), &[]);
        field.blocks = vec![Block::whole(Vector { x, y }), Block::Constant(7)];
        field
    }

    fn moved(fields: [Field; 2], frames: u32) -> Option<Vec<Block>> {
        let mut motion = Motion::default();
        for field in fields {
            motion.next = field;
            motion.advance();
        }
        motion.carry_on(frames).then_some(motion.next.blocks)
    }

    #[test]
    fn motion_goes_on_as_far_as_it_did_before() {
        let still = Block::whole(Vector::ZERO);
        let at = |x, y| Some(vec![Block::whole(Vector { x, y }), still]);
        assert_eq!(moved([field(8, -4), field(8, -4)], 1), at(8, -4));
        assert_eq!(moved([field(8, -4), field(8, -4)], 3), at(24, -12));
        // Four times as fast as before: half of the motion persists, and a quarter in the frame after.
        assert_eq!(moved([field(4, 0), field(16, 0)], 1), at(8, 0));
        assert_eq!(moved([field(4, 0), field(16, 0)], 2), at(12, 0));
        assert_eq!(moved([field(i16::MIN, 0), field(i16::MIN, 0)], u32::MAX), at(i16::MIN, 0));
    }

    #[test]
    fn what_turns_back_stands_still_or_is_new_does_not_move() {
        assert_eq!(moved([field(8, 0), field(-8, 0)], 1), None);
        assert_eq!(moved([field(0, 0), field(0, 0)], 1), None);
        assert_eq!(moved([field(8, 0), field(8, 0)], 0), None);
        assert_eq!(moved([Field::default(), field(8, 0)], 1), None);
        let mut motion = Motion { last: field(8, 0), before: field(8, 0), next: Field::default() };
        motion.forget();
        assert!(!motion.carry_on(1));
        motion.next = field(8, 0);
        motion.advance();
        assert!(!motion.carry_on(1), "a frame after one that is predicted from nothing");
    }
}
