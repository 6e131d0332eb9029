//! Rotations of three components (spec, "Quantiser").

use std::f64::consts::PI;

use crate::colour::givens::turned;

/// Steps of an angle in half a turn.
const HALF_TURN: f64 = 64.0;
/// Bits of an angle in a stream.
pub(crate) const ANGLE_BITS: u32 = 6;
/// Angles are in `-ANGLE_RANGE..ANGLE_RANGE`: a quarter of a turn each way.
pub(crate) const ANGLE_RANGE: i8 = 1 << (ANGLE_BITS - 1);
/// The most rotations of a slice, including the identity.
pub(crate) const MAX_ROTATIONS: usize = 8;

/// A rotation of luma and both chroma components by three angles in 1/64 of half a turn: in the planes of the first and
/// second, first and third, second and third.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rotation {
    pub(crate) angles: [i8; 3],
}

/// Row `i` gives component `i` from all three. The transpose is the inverse.
pub(crate) type Matrix = [[f32; 3]; 3];

impl Rotation {
    #[expect(clippy::cast_possible_truncation, reason = "coefficients are single precision")]
    pub(crate) fn matrix(self) -> Matrix {
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let angles = self.angles.map(|angle| f64::from(angle) * PI / HALF_TURN);
        turned(identity, angles).map(|row| row.map(|value| value as f32))
    }

    /// Returns this rotation with one angle changed, if the angle stays within its range.
    pub(crate) fn changed(mut self, angle: usize, by: i8) -> Option<Self> {
        self.angles[angle] += by;
        (-ANGLE_RANGE..ANGLE_RANGE).contains(&self.angles[angle]).then_some(self)
    }
}

pub(crate) const fn transposed(m: &Matrix) -> Matrix {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rotation_is_undone_by_its_transpose() {
        for angles in [[0, 0, 0], [31, -32, 7], [-5, 0, 12], [1, 1, 1]] {
            let there = Rotation { angles }.matrix();
            let back = transposed(&there);
            for (i, j) in (0..9).map(|at| (at / 3, at % 3)) {
                let product: f32 = (0..3).map(|k| back[i][k] * there[k][j]).sum();
                assert!((product - f32::from(u8::from(i == j))).abs() < 1e-6, "{angles:?}");
            }
        }
        assert_eq!(Rotation::default().matrix(), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(Rotation { angles: [0, 31, 0] }.changed(1, 1), None);
    }
}
