//! The decoder against the one that was written from the specification alone.

use std::sync::LazyLock;

use nestcast_codec::ModelId;
use nestcast_reference::Reference;
use nestcast_reference::probe;

use crate::stream::{Shape, TABLES};

/// The reference is slow: a picture has a few blocks in its finest subbands, and one region or four.
const MAX_SIDE: usize = 36;

/// Tables that show Levels and planes, and their id.
static PROBE: LazyLock<(Vec<u8>, ModelId)> = LazyLock::new(|| {
    let tables = probe::tables(TABLES);
    let model = probe::decoder(&tables).model().id();
    (tables, model)
});

/// Checks that for any bytes, cut anywhere, the decoder knows the Levels, planes, rotations, gains and cut of the
/// reference decoder.
///
/// The input: a picture's shape, where it is cut, then the stream's body.
pub fn reference(data: &[u8]) {
    let Some((&[ref shape @ .., cut], body)) = data.split_first_chunk::<9>() else { return };
    let shape = Shape::of(*shape, MAX_SIDE);
    let (tables, model) = &*PROBE;
    let (stream, header) = shape.stream(*model, body);
    let reference = Reference::decode(tables, &stream).expect("a valid header").expect("a whole header");
    let cut = header + usize::from(cut).min(body.len());
    let mut decoder = probe::decoder(tables);
    for (from, to) in [(0, cut), (cut, stream.len())] {
        let known = reference.at(to);
        let corrupt = decoder.push(&stream[from..to]).is_err();
        assert!(known.alpha.is_some() || !corrupt, "one payload has no lengths that could be corrupt");
        assert_eq!(corrupt, known.corrupt, "a corrupt length");
        probe::assert_same(&mut decoder, &known, "the codec and the reference");
    }
}
