//! Encodes a picture with a model's tables, then renders it from prefixes as they would arrive, without ONNX
//! Runtime: `cargo run --release -p nestcast-codec --example prefixes -- TABLES.bin PICTURE`.

use std::error::Error;

use nestcast_codec::{Channels, Decoder, Encoder, Linear, Model, Picture, Progress, Size};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(tables), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: prefixes TABLES.bin PICTURE".into());
    };
    let model = Model::from_bytes(&std::fs::read(tables)?)?;
    let image = image::open(path)?.into_rgb8();
    let (width, height) = image.dimensions();
    let picture = Picture::new(Size::new(width, height)?, Channels::Rgb, image.into_raw())?;

    let linear = Linear::new(model.clone());
    let stream = Encoder::new(model.clone()).encode(&picture, &linear)?;

    let mut decoder = Decoder::new(model);
    for (index, bytes) in stream.bytes().chunks(4096).enumerate() {
        if let Progress::Picture(cut) = decoder.push(bytes)? {
            let picture = decoder.render(&linear)?;
            let name = format!("prefix-{index:03}.png");
            image::save_buffer(&name, picture.samples(), width, height, image::ColorType::Rgb8)?;
            println!("{name}: cut at plane {:.2}", cut.0);
        }
    }
    Ok(())
}
