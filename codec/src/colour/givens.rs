//! Rotations as products of three plane rotations (Givens, "Computation of plane unitary rotations transforming a
//! general matrix to triangular form", 1958; as angles of colour axes: spec, "Colour").

/// Returns these rows, turned by three angles in radians: in the planes of the first and second, first and third,
/// second and third.
pub(crate) fn turned(mut rows: [[f64; 3]; 3], angles: [f64; 3]) -> [[f64; 3]; 3] {
    for ((i, j), angle) in [(0, 1), (0, 2), (1, 2)].into_iter().zip(angles) {
        let (sine, cosine) = angle.sin_cos();
        let first = rows[i];
        let second = rows[j];
        rows[i] = std::array::from_fn(|k| cosine * first[k] - sine * second[k]);
        rows[j] = std::array::from_fn(|k| sine * first[k] + cosine * second[k]);
    }
    rows
}
