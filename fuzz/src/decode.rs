//! Any bytes after a valid header.

use nestcast_codec::{Decoder, Linear, Picture, Position, Progress};

use crate::bounded;
use crate::stream::{MODEL, Shape, chunks};

/// Longest side of most pictures: small ones decode several times as often.
const USUAL_SIDE: usize = 12;
/// Longest side of one picture in eight: four regions, and a few blocks of the finest subbands.
const LARGE_SIDE: usize = 40;
/// The bytes that a decoder and its caller hold of a picture of one pixel: tables, the filters at a cut and
/// probabilities.
const FIXED_BYTES: usize = 400_000;
/// The codec's own promise, in bytes.
const BYTES_PER_PIXEL: usize = 50;

/// Checks that any bytes decode to a picture of the header's size, at every cut, in whichever pieces they arrive. Each
/// piece advances the stream, and the decoder holds no more memory than the picture's size allows.
///
/// The input: a picture's shape, the pieces in which it arrives, those at which it is rendered, then the stream's body.
pub fn decode(data: &[u8]) {
    let Some((&[ref shape @ .., by, at], body)) = data.split_first_chunk::<10>() else { return };
    let side = if shape[0] & 0x0E == 0x0E { LARGE_SIDE } else { USUAL_SIDE };
    let shape = Shape::of(*shape, side);
    let (stream, _) = shape.stream(MODEL.id(), body);
    // Half a pixel for opacity, an eighth for more bits a sample.
    let eighths = 8 + shape.more.map_or(0, |(_, alpha)| 1 + if alpha.is_some() { 4 } else { 0 });
    let least = if eighths > 9 { 2 * FIXED_BYTES } else { FIXED_BYTES };
    let most = least + BYTES_PER_PIXEL * shape.pixels() * eighths / 8 + 4 * stream.len();
    // Each decoder has a transform of its own: clones share buffers, and what one takes would depend on other threads.
    let mut parts = bounded::within(most, "decoding", || in_parts(Linear::new(MODEL.clone()), shape, &stream, by, at));
    let mut once = bounded::within(most, "decoding", || {
        let mut once = Decoder::new(Linear::new(MODEL.clone()));
        let pushed = once.push(&stream);
        assert!(pushed.is_ok() || shape.has_lengths(), "one payload has no lengths that could be corrupt");
        assert_eq!(once.progress(), parts.progress(), "in parts it comes as far");
        checked(&mut once, shape);
        once
    });
    same(&mut once, &mut parts);
}

/// Returns the decoder of a stream that arrived in pieces.
fn in_parts(linear: Linear, shape: Shape, stream: &[u8], by: u8, at: u8) -> Decoder {
    let mut decoder = Decoder::new(linear);
    let mut before = Position(f32::INFINITY);
    for (number, chunk) in chunks(stream, by).enumerate() {
        let pushed = decoder.push(chunk);
        assert!(pushed.is_ok() || shape.has_lengths(), "one payload has no lengths that could be corrupt");
        match decoder.progress() {
            Progress::NeedMore(more) => assert!(more > 0 && decoder.header().is_none()),
            Progress::Picture(cut) => {
                let last = Position(-f32::from(shape.more.map_or(0, |(fine, _)| fine)));
                let is_left = last < cut || shape.has_lengths() && last == cut;
                assert!(is_left && cut <= before && cut <= Position(15.0), "from {before:?} to {cut:?}");
                before = cut;
            }
            Progress::Complete => before = Position(-6.0),
        }
        if number == usize::from(at) && decoder.header().is_some() {
            checked(&mut decoder, shape);
        }
    }
    decoder
}

fn checked(decoder: &mut Decoder, shape: Shape) -> Picture {
    if shape.more.is_some() {
        let format = decoder.header().expect("the header is there").format();
        decoder.render_as(format).expect("the header is there");
    }
    let picture = decoder.render().expect("the header is there");
    assert_eq!((picture.size().width(), picture.size().height()), (shape.width, shape.height));
    assert_eq!(picture.samples().len(), shape.pixels() * if shape.rgb { 3 } else { 1 });
    picture
}

/// Checks that two decoders know the same to the last bit.
pub(crate) fn same(one: &mut Decoder, other: &mut Decoder) {
    let (one, other) = [one, other].map(|decoder| decoder.coefficients().expect("the header is there")).into();
    assert_eq!(one.1, other.1, "the cut");
    assert_eq!(one.0.axes, other.0.axes);
    for (index, (one, other)) in one.0.subbands.iter().zip(&other.0.subbands).enumerate() {
        let [one, other] = [one, other].map(|values| values.iter().map(|value| value.to_bits()));
        assert!(one.eq(other), "the coefficients of subband {index} differ");
    }
}
