//! Learns a model's priors, the probabilities that every stream starts from, by coding photos:
//! `cargo run --release -p nestcast-models --example priors -- TABLES.bin PHOTO...` rewrites the tables.

use std::error::Error;
use std::sync::Arc;

use image::imageops::FilterType;
use nestcast_codec::{Analysis, Channels, Encoder, Linear, Model, Picture, Size};

/// A picture's weight in a probability grows with its symbols, up to this many: priors matter for the first symbols
/// only.
const MAX_COUNT: f64 = 100.0;
/// Photos are shrunk to 3/5, which removes the traces of their own compression.
const SHRINK_RATIO: (u32, u32) = (3, 5);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: priors TABLES.bin PHOTO...")?;
    let tables = std::fs::read(&path)?;
    let linear = Linear::new(Arc::new(Model::from_bytes(&tables)?));
    let mut encoder = Encoder::new(linear.clone());
    let mut votes: Vec<(f64, f64)> = Vec::new(); // (ones, all), weighed
    for photo in arguments {
        let full = image::open(&photo)?.to_rgb8();
        let (width, height) =
            (full.width() * SHRINK_RATIO.0 / SHRINK_RATIO.1, full.height() * SHRINK_RATIO.0 / SHRINK_RATIO.1);
        let small = image::imageops::resize(&full, width, height, FilterType::Lanczos3);
        let picture = Picture::new(Size::new(width, height)?, Channels::Rgb, small.into_raw())?;
        let counts = encoder.count(&linear.coefficients_of((&picture).into())?)?;
        votes.resize(counts.len(), (0.0, 0.0));
        for ((ones, all), [zeros, met]) in votes.iter_mut().zip(counts) {
            let total = (zeros + met) as f64;
            let say = total.min(MAX_COUNT);
            *ones += if total > 0.0 { say * met as f64 / total } else { 0.0 };
            *all += say;
        }
        eprintln!("{photo}");
    }
    #[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits")]
    let prior = |(ones, all): &(f64, f64)| ((ones + 0.5) / (all + 1.0) * 65536.0).clamp(64.0, 65472.0) as u16;
    let priors: Vec<u16> = votes.iter().map(prior).collect();
    std::fs::write(&path, Model::with_priors(&tables, &priors)?)?;
    Ok(())
}
