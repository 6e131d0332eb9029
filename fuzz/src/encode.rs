//! Any small picture through the encoder.

use nestcast_codec::{Channels, Decoder, Encoder, Format, MAX_HEADER, Picture, Progress, Size, Ycbcr};

use crate::decode::same;
use crate::stream::LINEAR;

const MAX_SIDE: u8 = 24;

/// Checks that any picture, grey, RGB or planar, of 8 or 16 bits a sample, with opacity or without, is encoded to a
/// stream that decodes whole, as RGB and as it was given. An encoder with a limit writes a prefix of it, or all.
///
/// The input: kind, width, height, limit, then samples. After the last samples the last ones repeat.
pub fn encode(data: &[u8]) {
    let Some((&[kind, width, height, limit], samples)) = data.split_first_chunk::<4>() else { return };
    let format = match kind & 13 {
        5 => Format::Ycbcr420(Ycbcr::BT601_FULL),
        13 => Format::Ycbcr420(Ycbcr::BT601),
        kind => {
            let channels = if kind & 1 == 1 { Channels::Rgb } else { Channels::Grey };
            Format::interleaved(channels, width & 0xA0 == 0xA0, width & 0xC0 == 0xC0)
        }
    };
    let [width, height] = [width, height].map(|side| u32::from(side % MAX_SIDE + 1));
    let size = Size::new(width, height).expect("within the limits");
    let period = if samples.is_empty() { &[0][..] } else { samples };
    let samples = period.iter().copied().cycle().take(format.bytes(size)).collect();
    let picture = Picture::new(size, format, samples).expect("as many samples as pixels");

    let encoder = Encoder::new(LINEAR.clone()).with_rotations(kind & 2 == 0);
    let mut encoder = encoder.with_activity_masking(f32::from(kind >> 4) / 15.0);
    let stream = encoder.encode(&picture).expect("any picture is encoded");
    let mut decoder = Decoder::new(LINEAR.clone());
    assert_eq!(decoder.push(stream.bytes()), Ok(Progress::Complete), "all of a stream is whole");
    let rendered = decoder.render().expect("the header is there");
    assert_eq!((rendered.size(), rendered.channels()), (size, format.channels()));
    decoder.render_into(&mut Picture::zero(size, format)).expect("it has the stream's colours");

    let limit = usize::from(limit) * 4;
    let limited = encoder.with_max_bytes(limit).encode(&picture).expect("any picture is encoded");
    let length = limited.bytes().len();
    assert!(length <= limit.max(MAX_HEADER), "{length} bytes with a limit of {limit}");
    assert_eq!(limited.bytes(), &stream.prefix(length), "a limit cuts and changes nothing");
    let mut cut = Decoder::new(LINEAR.clone());
    cut.push(limited.bytes()).expect("a prefix decodes");
    if length == stream.bytes().len() {
        same(&mut cut, &mut decoder);
    }
}
