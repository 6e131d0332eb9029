//! Encodes a picture, then renders it from prefixes as they would arrive. It needs no model file and no ONNX Runtime:
//! `cargo run --release -p nestcast-codec --example prefixes -- PICTURE`.

use std::error::Error;

use nestcast_codec::{Codec, Format, Picture, Progress, Size};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: prefixes PICTURE")?;
    let image = image::open(path)?.into_rgb8();
    let (width, height) = image.dimensions();
    let mut picture = Picture::new(Size::new(width, height)?, Format::Rgb, image.into_raw())?;

    let codec = Codec::photo();
    let stream = codec.encode(&picture)?;

    let mut decoder = codec.decoder();
    for (index, bytes) in stream.bytes().chunks(4096).enumerate() {
        if let Progress::Picture(position) = decoder.push(bytes)? {
            decoder.render_into(&mut picture)?;
            let name = format!("prefix-{index:03}.png");
            image::save_buffer(&name, picture.samples(), width, height, image::ColorType::Rgb8)?;
            println!("{name}: at plane {:.2}", position.0);
        }
    }
    Ok(())
}
