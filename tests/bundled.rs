//! The bundled photo improves with more bytes, with either synthesis.

use std::path::Path;

use nestcast_codec::{Channels, Decoder, Encoder, Picture, Size, Stream, Synthesis};
use nestcast_lab::metrics::psnr;
use nestcast_models::{Package, Runtime};

/// The most that PSNR may fall from any cut to a later one.
const TOLERANCE_DB: f64 = 0.02;

fn photo() -> Picture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/assets/spiral_firework.png");
    let photo = image::open(&path).expect("the bundled photo").into_rgb8();
    let size = Size::new(photo.width(), photo.height()).expect("a valid size");
    Picture::new(size, Channels::Rgb, photo.into_raw()).expect("three samples a pixel")
}

fn package() -> Package {
    Package::builtin("photo").unwrap_or_else(|error| panic!("{error}"))
}

fn stream(package: &Package, photo: &Picture) -> Stream {
    Encoder::new(package.linear(2)).encode(photo).expect("a stream")
}

/// Returns cuts in equal ratios from the smallest picture to the whole stream.
#[expect(clippy::cast_possible_truncation, reason = "no more than `bytes`")]
fn cuts(count: usize, bytes: usize) -> Vec<usize> {
    let ratio = bytes as f64 / 40.0;
    let at = |index: usize| (40.0 * ratio.powf(index as f64 / (count - 1) as f64)).round() as usize;
    let mut cuts: Vec<usize> = (0..count).map(at).map(|cut| cut.min(bytes)).collect();
    cuts.dedup();
    cuts
}

fn assert_never_worse(synthesis: impl Synthesis + 'static, count: usize, name: &str) {
    let (package, photo) = (package(), photo());
    let stream = stream(&package, &photo);
    let mut decoder = Decoder::new(synthesis);
    let (mut before, mut best, mut worst) = (0, 0.0_f64, 0.0_f64);
    let mut rate_drops = Vec::new();
    for cut in cuts(count, stream.bytes().len()) {
        decoder.push(&stream.bytes()[before..cut]).expect("a prefix is no error");
        before = cut;
        let rendered = decoder.render().unwrap_or_else(|error| panic!("{name}: {error}"));
        let psnr = psnr(&photo, &rendered);
        worst = worst.max(best - psnr);
        if best - psnr > TOLERANCE_DB {
            rate_drops.push(format!("{cut} bytes: {psnr:.3} dB after {best:.3} dB"));
        }
        best = best.max(psnr);
    }
    println!("{name}: {} bytes, {best:.2} dB at the end, never {worst:.4} dB below an earlier cut", before);
    assert!(rate_drops.is_empty(), "{name}: PSNR falls at {} cuts: {}", rate_drops.len(), rate_drops.join("; "));
    assert!(best > 40.0, "{name}: the whole stream gives {best:.2} dB");
}

#[test]
fn linear_synthesis() {
    assert_never_worse(package().linear(2), 400, "linear");
}

/// This uses fewer cuts, because a network needs many times as long.
#[test]
fn deep_synthesis() {
    let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
    let deep = package().deep_synthesis(&runtime, 2);
    assert_never_worse(deep, 100, "deep");
}
