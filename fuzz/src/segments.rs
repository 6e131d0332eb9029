//! Any segments of a picture of several slices.

use nestcast_codec::{Decoder, Error};

use crate::decode::same;
use crate::stream::{LINEAR, MODEL, Shape, chunks};

/// The least pixels that make two and three slices, in as few rows as slices need.
const SIZES: [(usize, usize); 3] = [(6050, 65), (6050, 97), (4608, 129)];

/// Checks a stream with any lengths of its segments. It decodes the same in any pieces, on any number of threads, or is
/// refused for a corrupt length. The bytes before that still count, and nothing after it does.
///
/// The input: the size and whether all coefficients are compared, the pieces, bit planes, threads, then the stream's
/// body.
pub fn segments(data: &[u8]) {
    let Some((&[size, by, planes, threads], body)) = data.split_first_chunk::<4>() else { return };
    let (width, height) = SIZES[usize::from(size >> 1) % SIZES.len()];
    let (gains, axes) = (planes & 4 != 0, [0; 4]);
    let shape = Shape { rgb: false, width, height, planes: planes % 4, gains, axes, more: None };
    let (stream, header) = shape.stream(MODEL.id(), body);
    // A decoder uses no thread for fewer coefficients than are worth one.
    let mut once = Decoder::new(LINEAR.clone().with_threads(usize::from(threads) % 3 + 1));
    let answer = once.push(&stream).map(drop);
    assert!(matches!(answer, Ok(()) | Err(Error::Corrupt { .. })), "{answer:?}");
    let mut parts = Decoder::new(LINEAR.clone());
    parts.push(&stream[..header]).expect("a valid header");
    let mut refused = Ok(());
    for chunk in chunks(body, by) {
        let answer = parts.push(chunk).map(drop);
        assert!(refused.is_ok() || refused == answer, "once refused it stays refused");
        refused = answer;
    }
    assert_eq!(answer, refused, "in parts it is refused for the same reason");
    assert_eq!(once.progress(), parts.progress(), "in parts it comes as far");
    // To compare half a million coefficients takes longer than all else, and the cut already shows most differences.
    if size & 1 == 1 {
        same(&mut once, &mut parts);
    }
}
