//! Rotations as products of three plane rotations (Givens, "Computation of plane unitary rotations transforming a
//! general matrix to triangular form", 1958; as angles of colour axes: spec, "Colour").

/// Terms of the power series. What they leave out is below 2^-52 up to a quarter of a turn.
const SERIES_TERMS: u32 = 11;

/// Returns these rows, turned by three angles in radians: in the planes of the first and second, first and third,
/// second and third. Angles are a quarter of a turn at most, either way.
pub(crate) fn turned(mut rows: [[f64; 3]; 3], angles: [f64; 3]) -> [[f64; 3]; 3] {
    for ((i, j), angle) in [(0, 1), (0, 2), (1, 2)].into_iter().zip(angles) {
        let (sine, cosine) = sine_and_cosine(angle);
        let first = rows[i];
        let second = rows[j];
        rows[i] = std::array::from_fn(|k| cosine * first[k] - sine * second[k]);
        rows[j] = std::array::from_fn(|k| sine * first[k] + cosine * second[k]);
    }
    rows
}

/// Sums the power series. The standard library's functions give other last bits on other systems, and in WebAssembly
/// they are code for angles of any size.
fn sine_and_cosine(angle: f64) -> (f64, f64) {
    let square = angle * angle;
    let mut sums = [1.0; 2];
    for term in (1..SERIES_TERMS).rev() {
        let even = f64::from(2 * term);
        sums = [1.0 - square * sums[0] / (even * (even + 1.0)), 1.0 - square * sums[1] / ((even - 1.0) * even)];
    }
    (angle * sums[0], sums[1])
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::sine_and_cosine;

    #[test]
    fn the_series_are_sine_and_cosine_up_to_a_quarter_of_a_turn() {
        for step in -512..=512 {
            let angle = f64::from(step) / 512.0 * FRAC_PI_2;
            let (sine, cosine) = sine_and_cosine(angle);
            assert!((sine - angle.sin()).abs() < 4e-16 && (cosine - angle.cos()).abs() < 4e-16, "{angle}");
        }
    }
}
