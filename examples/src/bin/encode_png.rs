//! Encodes a PNG, JPEG or WebP file once: `encode_png PICTURE STREAM`.

use nestcast_codec::Codec;
use nestcast_media::picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: encode_png PICTURE STREAM".into());
    };
    let decoded = picture::decode(&std::fs::read(input)?, 100_000_000)?; // at most 100 megapixels
    for note in &decoded.notes {
        eprintln!("note: {note}");
    }
    let stream = Codec::photo().encode(&decoded.picture)?;
    std::fs::write(output, &stream)?;
    Ok(())
}
