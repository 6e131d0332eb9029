//! Renders a picture from a growing prefix of its stream: `cargo run --example deep PICTURE`.

use std::error::Error;

use nestcast_codec::{Channels, Codec, Picture, Size};
use nestcast_models::{Package, Runtime};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: deep PICTURE")?;
    let image = image::open(path)?.into_rgb8();
    let picture = Picture::new(Size::new(image.width(), image.height())?, Channels::Rgb, image.into_raw())?;

    let package = Package::builtin("photo")?;
    let codec = Codec::with(package.deep(&Runtime::open()?, 2)?);
    let stream = codec.encode(&picture)?;

    let mut decoder = codec.decoder();
    for (count, bytes) in stream.bytes().chunks(8192).enumerate() {
        decoder.push(bytes)?;
        let rendered = decoder.render()?;
        let differences = picture.samples().iter().zip(rendered.samples()).map(|(&a, &b)| u64::from(a.abs_diff(b)));
        let mean = differences.sum::<u64>() as f64 / picture.samples().len() as f64;
        println!("{:8} bytes, mean absolute difference {mean:.2}", count * 8192 + bytes.len());
    }
    Ok(())
}
