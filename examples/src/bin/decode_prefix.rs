//! Shows what the first bytes of a stream decode to: `decode_prefix STREAM BYTES PNG`.

use nestcast_codec::Codec;
use nestcast_media::picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, bytes, output] = arguments.as_slice() else {
        return Err("usage: decode_prefix STREAM BYTES PNG".into());
    };
    let stream = std::fs::read(input)?;
    let prefix = &stream[..stream.len().min(bytes.parse()?)];
    let mut decoder = Codec::photo().decoder();
    decoder.push(prefix)?;
    std::fs::write(output, picture::encode_png(&decoder.render()?)?)?;
    Ok(())
}
