//! Encodes a picture once, cuts it at ten places, and prints bytes and PSNR of each: `psnr_at_ten_cuts PICTURE`.

use nestcast_codec::{Codec, Picture};
use nestcast_media::picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let input = std::env::args_os().nth(1).ok_or("usage: psnr_at_ten_cuts PICTURE")?;
    let original = picture::decode(&std::fs::read(input)?, 100_000_000)?.picture;
    let codec = Codec::photo();
    let stream = codec.encode(&original)?;
    let mut decoder = codec.decoder();
    for tenth in 1..=10 {
        let prefix = stream.prefix(stream.len() * tenth / 10);
        decoder.reset();
        decoder.push(&prefix)?;
        println!("{:8} bytes {:6.2} dB", prefix.len(), psnr(&original, &decoder.render()?));
    }
    Ok(())
}

fn psnr(original: &Picture, decoded: &Picture) -> f64 {
    let pairs = original.samples().iter().zip(decoded.samples());
    let error: f64 = pairs.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    10.0 * (255.0_f64.powi(2) * original.samples().len() as f64 / error).log10()
}
