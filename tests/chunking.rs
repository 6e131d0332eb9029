//! The result does not depend on how the arriving bytes are divided.

use nestcast_codec::{Coefficients, Decoder, Linear, Position};
use nestcast_tests::vectors::{self, Vector};
use proptest::prelude::*;

fn decoded(vector: &Vector, chunks: impl IntoIterator<Item = usize>) -> (Coefficients, Position) {
    let mut decoder = Decoder::new(Linear::new(vectors::model()));
    let mut rest = vector.stream.as_slice();
    for chunk in chunks {
        let (now, later) = rest.split_at(chunk.min(rest.len()));
        decoder.push(now).unwrap_or_else(|error| panic!("{}: {error}", vector.recipe.name));
        rest = later;
    }
    decoder.push(rest).unwrap_or_else(|error| panic!("{}: {error}", vector.recipe.name));
    let (coefficients, position) =
        decoder.coefficients().unwrap_or_else(|error| panic!("{}: {error}", vector.recipe.name));
    (coefficients.clone(), position)
}

fn assert_same(vector: &Vector, chunks: impl IntoIterator<Item = usize>, how: &str) {
    let same = decoded(vector, chunks) == decoded(vector, []);
    assert!(same, "{}: {how} gives other coefficients than one shot", vector.recipe.name);
}

#[test]
fn byte_by_byte() {
    for vector in vectors::read() {
        assert_same(&vector, (0..vector.stream.len()).map(|_| 1), "byte by byte");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pushes chunks of all sizes from nothing to thousands of bytes, in small vectors and in slices.
    #[test]
    fn random_chunks(which in 0..vectors::RECIPES.len(), chunks in proptest::collection::vec((0..13_u32, any::<usize>()), 1..200)) {
        let vector = &vectors::read()[which];
        let sizes: Vec<usize> = chunks.iter().map(|&(log, bits)| bits % (1 << log)).collect();
        assert_same(vector, sizes.iter().copied(), &format!("chunks of {sizes:?}"));
    }
}
