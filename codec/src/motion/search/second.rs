//! Searches second vectors of bi-predicted blocks by absolute differences and estimated bits.

use crate::motion::field::BLOCK_SIDE;
use crate::motion::reference::Past;
use crate::motion::search::cost;
use crate::motion::search::quarters::{Quarters, Rest};
use crate::motion::vector::Vector;

/// The most steps by whole samples.
const MAX_WHOLE_STEPS: usize = 3;

/// A block whose first vector is chosen.
pub(super) struct Second<'a> {
    /// Steps of difference that a bit is worth, in 1/16.
    pub(super) lambda: u32,
    pub(super) quarters: Past<&'a Quarters>,
    pub(super) corner: [usize; 2],
    pub(super) first: Vector,
    /// The prediction against which the second vector is coded.
    pub(super) predicted: Vector,
}

impl Second<'_> {
    /// Returns the best second vector near the predicted one.
    pub(super) fn find(&self, own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE]) -> Vector {
        let rest = Rest::new(own, self.quarters.last, self.corner, self.first);
        let mut best = (self.predicted, self.cost(&rest, self.predicted));
        for (reach, steps) in [(4, MAX_WHOLE_STEPS), (2, 1), (1, 1)] {
            for _ in 0..steps {
                let from = best.0;
                for (x, y) in [(reach, 0), (-reach, 0), (0, reach), (0, -reach)] {
                    let vector = from.plus(Vector { x, y });
                    let cost = self.cost(&rest, vector);
                    if cost < best.1 {
                        best = (vector, cost);
                    }
                }
                if best.0 == from {
                    break;
                }
            }
        }
        best.0
    }

    /// The cost of a vector; the predicted one has no bits.
    fn cost(&self, rest: &Rest<'_>, vector: Vector) -> u32 {
        let bits = cost::of_difference(vector, self.predicted) - cost::of_difference(Vector::ZERO, Vector::ZERO);
        rest.difference(self.quarters.before, vector) + self.lambda * bits / 16
    }
}
