//! The colour axes of a picture: three orthogonal directions in RGB, as a header holds them (spec, "Colour").
//!
//! The colours of most pictures vary along a few directions of their own. A picture's planes are its colours along such
//! axes, so the planes have less in common than after one fixed matrix for all pictures. The inverse is a matrix too.
//!
//! Prior art: an adaptive Karhunen-Loeve transform of the components (Hao and Shi, "Reversible integer KLT for
//! progressive-to-lossless compression of multiple component images", ICIP 2003). Here it is three Givens angles of 10
//! bits.

use crate::colour::givens::turned;

/// The axes for the angles 0, 0, 0: grey, yellow to blue, green to red. Their length is not yet 1.
const OPPONENT_AXES: [[f64; 3]; 3] = [[1.0, 1.0, 1.0], [-1.0, -1.0, 2.0], [1.0, -1.0, 0.0]];
/// Steps of an angle in half a turn.
pub(super) const HALF_TURN: f64 = 1024.0;
/// Angles are in `-ANGLE_RANGE..ANGLE_RANGE`: a quarter of a turn each way.
pub(super) const ANGLE_RANGE: i16 = 512;
/// Bits of an angle in a stream.
const ANGLE_BITS: u32 = 10;

/// Three orthogonal directions in RGB: a picture's planes contain its colours along these directions.
///
/// Grey pictures, and pictures one pixel wide or high, have the default: planes of grey, of blue against yellow, of red
/// against green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Axes {
    pub(super) angles: [i16; 3],
}

impl Axes {
    /// Returns the axes of three angles, each -512..=511 in 1/1024 of half a turn; `None` if one is out of range.
    #[must_use]
    pub fn from_angles(angles: [i16; 3]) -> Option<Self> {
        angles.iter().all(|angle| (-ANGLE_RANGE..ANGLE_RANGE).contains(angle)).then_some(Self { angles })
    }

    /// Returns how far the default axes were turned: in the planes of the first and second, first and third, second and
    /// third axis.
    #[must_use]
    pub const fn angles(self) -> [i16; 3] {
        self.angles
    }

    /// Returns the bits of the header's field.
    pub(crate) fn to_bits(self) -> u32 {
        let fields = self.angles.map(|angle| u32::from((angle + ANGLE_RANGE).cast_unsigned()));
        fields[0] | fields[1] << ANGLE_BITS | fields[2] << (2 * ANGLE_BITS)
    }

    /// Reads the bits of the header's field; `None` if a reserved bit is set.
    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        let field = |index: u32| {
            let [low, high, ..] = (bits >> (index * ANGLE_BITS) & ((1 << ANGLE_BITS) - 1)).to_le_bytes();
            i16::from_le_bytes([low, high]) - ANGLE_RANGE
        };
        (bits >> (3 * ANGLE_BITS) == 0).then(|| Self { angles: [field(0), field(1), field(2)] })
    }

    /// The axes as rows, each of length 1.
    pub(super) fn rows(self) -> [[f64; 3]; 3] {
        let opponent = OPPONENT_AXES.map(|row| {
            let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
            row.map(|value| value / length)
        });
        turned(opponent, self.angles.map(|angle| f64::from(angle) * std::f64::consts::PI / HALF_TURN))
    }

    /// The matrix from RGB - 128 to planes, row-major.
    pub(super) fn analysis(self) -> [f64; 9] {
        let rows = self.rows();
        std::array::from_fn(|i| rows[i / 3][i % 3] / 3_f64.sqrt())
    }

    /// The matrix from planes to RGB - 128, row-major.
    pub(super) fn synthesis(self) -> [f64; 9] {
        let rows = self.rows();
        std::array::from_fn(|i| rows[i % 3][i / 3] * 3_f64.sqrt())
    }
}
